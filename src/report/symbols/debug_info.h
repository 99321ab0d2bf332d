// Reads source files, lines and inlined functions from DWARF.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "report/symbols/elf/range_index.h"
#include "report/symbols/elf/string_pool.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// A range of addresses of one source line. Names live as long as their pool.
struct SourceRow {
    std::uint64_t start = 0, end = 0;
    std::string_view file;
    std::uint32_t line = 0;           // 0: compiled from no line
    std::uint32_t discriminator = 0;  // distinguishes the blocks of a line
    std::string_view directory;       // the directory of compilation; empty if unknown
};

// A function around an instruction, in the form by which a compiler finds it in the source.
struct FunctionScope {
    std::string_view linkage_name;       // mangled; empty if unknown
    std::uint32_t declaration_line = 0;  // 0 if unknown
    // The place of the inlined call in the scope around it.
    std::uint32_t call_line = 0, call_discriminator = 0;
};

struct SourcePosition {
    std::uint32_t line = 0, discriminator = 0;
    std::vector<FunctionScope> scopes;  // outermost first: the function, then what was inlined
};

// Compilation units are read when an address in them is first looked up; after that, look-ups are
// binary searches. The DWARF is hostile input.
class DebugInfo {
  public:
    // `dwarf` must outlive this. Its addresses plus `bias` are the module's addresses. Names are
    // kept in `strings`.
    DebugInfo(Dwarf* dwarf, Dwarf_Addr bias, StringPool& strings);

    // Sets file, line and inlined of `symbol`; leaves them unchanged if nothing is known.
    void describe(std::uint64_t address, CodeSymbol& symbol);

    // The rows of the line tables for a range, by ascending address, without overlaps.
    std::vector<SourceRow> lines(std::uint64_t start, std::uint64_t end);

    // Nothing if the line or the function is unknown.
    std::optional<SourcePosition> position(std::uint64_t address);

    // Compilation units, and those of them whose functions are in other files that were not found
    // (split DWARF).
    std::size_t unit_count() const { return units_.size(); }
    std::size_t missing_unit_count() const { return missing_units_; }

  private:
    // A function or an inlined copy of one.
    struct Scope {
        Dwarf_Off die;
        std::uint32_t around;  // index of the scope that it was inlined into; `none`: not inlined
        bool is_inlined;
        // Cached after the first request.
        std::optional<InlinedFrame> frame = {};
        std::optional<FunctionScope> function = {};
    };
    static constexpr std::uint32_t none = UINT32_MAX;

    struct Unit {
        Dwarf_Die die;     // has the line table
        Dwarf_Die scopes;  // has the functions; another DIE if DWARF is split
        bool scopes_loaded = false, rows_loaded = false;
        std::vector<Scope> scope_list;
        RangeIndex innermost;         // owners are indices into `scope_list`
        std::vector<SourceRow> rows;  // addresses as in DWARF
        RangeIndex row_index;         // owners are indices into `rows`
    };
    // State of a walk over a unit's tree of functions.
    struct Walk;

    void read_units();
    void load_rows(Unit& unit);
    void load_scopes(Unit& unit);
    void collect_children(Dwarf_Die& parent, std::uint32_t around, int nesting, Walk& walk);
    void add_scope(Dwarf_Die& die, std::uint32_t around, Walk& walk);
    std::vector<InlinedFrame> inlined_at(Unit& unit, Dwarf_Addr address);
    InlinedFrame read_frame(Unit& unit, Dwarf_Off die_offset);
    FunctionScope read_function(Unit& unit, Dwarf_Off die_offset);

    Dwarf* dwarf_;
    Dwarf_Addr bias_;
    StringPool& strings_;
    std::vector<Unit> units_;
    std::size_t missing_units_ = 0;
    RangeIndex unit_index_;  // owners are indices into units_
};

}  // namespace shadowprof
