// Source files, lines and inlined functions out of DWARF.
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

// Addresses of one line of source. Names live as long as the pool that they are in.
struct SourceRow {
    std::uint64_t start = 0, end = 0;
    std::string_view file;
    std::uint32_t line = 0;           // 0: compiled from no line
    std::uint32_t discriminator = 0;  // tells apart the blocks of a line
    std::string_view directory;       // in which it was compiled; empty if unknown
};

// A function around an instruction, as a compiler knows it again in its source.
struct FunctionScope {
    std::string_view linkage_name;       // mangled; empty if unknown
    std::uint32_t declaration_line = 0;  // 0 if unknown
    // Where it was inlined, in the scope around it.
    std::uint32_t call_line = 0, call_discriminator = 0;
};

struct SourcePosition {
    std::uint32_t line = 0, discriminator = 0;
    std::vector<FunctionScope> scopes;  // outermost first: the function, then what was inlined
};

// Compilation units are read when an address in them is first asked for; then look-ups are binary
// searches. The DWARF is hostile input.
class DebugInfo {
  public:
    // `dwarf` must outlive this; its addresses plus `bias` are those of the module. Names are kept
    // in `strings`.
    DebugInfo(Dwarf* dwarf, Dwarf_Addr bias, StringPool& strings);

    // Fills file, line and inlined of `symbol`; leaves them alone where nothing is known.
    void describe(std::uint64_t address, CodeSymbol& symbol);

    // What line tables say of a range, by rising address, without overlaps.
    std::vector<SourceRow> lines(std::uint64_t start, std::uint64_t end);

    // Nothing where the line or the function is unknown.
    std::optional<SourcePosition> position(std::uint64_t address);

  private:
    // A function, or one that was inlined somewhere.
    struct Scope {
        Dwarf_Off die;
        std::uint32_t around;  // index of the scope that it was inlined into; `none`: not inlined
        bool is_inlined;
        // Once they were asked for:
        std::optional<InlinedFrame> frame = {};
        std::optional<FunctionScope> function = {};
    };
    static constexpr std::uint32_t none = UINT32_MAX;

    struct Unit {
        Dwarf_Die die;     // with the line table
        Dwarf_Die scopes;  // with the functions: another one where DWARF is split
        bool scopes_loaded = false, rows_loaded = false;
        std::vector<Scope> scope_list;
        RangeIndex innermost;         // owners are indices into `scope_list`
        std::vector<SourceRow> rows;  // addresses as in DWARF
        RangeIndex row_index;         // owners are indices into `rows`
    };
    // What a walk over a unit's tree of functions gathers.
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
    RangeIndex unit_index_;  // owners are indices into units_
};

}  // namespace shadowprof
