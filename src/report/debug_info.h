// Source files, lines and inlined functions out of DWARF.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "report/range_index.h"
#include "report/string_pool.h"
#include "report/symbol_source.h"

namespace shadowprof {

// Compilation units are read when an address in them is first asked for; then look-ups are binary
// searches. The DWARF is hostile input.
class DebugInfo {
  public:
    // `dwarf` must outlive this; its addresses plus `bias` are those of the module. Names are kept
    // in `strings`.
    DebugInfo(Dwarf* dwarf, Dwarf_Addr bias, StringPool& strings);

    // Fills file, line and inlined of `symbol`; leaves them alone where nothing is known.
    void describe(std::uint64_t address, CodeSymbol& symbol);

  private:
    // A function that was inlined somewhere.
    struct Inlined {
        Dwarf_Off die;
        std::uint32_t around;  // index of the inlined function that it is in, or `none`
        std::optional<InlinedFrame> frame;  // once it was asked for
    };
    static constexpr std::uint32_t none = UINT32_MAX;

    struct Unit {
        Dwarf_Die die;     // with the line table
        Dwarf_Die scopes;  // with the functions: another one where DWARF is split
        bool loaded = false;
        std::vector<Inlined> inlined;
        RangeIndex innermost;  // owners are indices into `inlined`
    };
    // What a walk over a unit's tree of functions gathers.
    struct Walk;

    void read_units();
    void load_inlined(Unit& unit);
    void collect_children(Dwarf_Die& parent, std::uint32_t around, int nesting, Walk& walk);
    std::vector<InlinedFrame> inlined_at(Unit& unit, Dwarf_Addr address);
    InlinedFrame read_frame(Unit& unit, Dwarf_Off die_offset);

    Dwarf* dwarf_;
    Dwarf_Addr bias_;
    StringPool& strings_;
    std::vector<Unit> units_;
    RangeIndex unit_index_;  // owners are indices into units_
};

}  // namespace shadowprof
