#include "report/debug_info.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <string>

#include "report/demangle.h"

namespace shadowprof {
namespace {

// Deeper trees than this are not what compilers write.
constexpr int deepest_nesting = 200;
constexpr std::size_t most_ranges_of_a_die = 1'000'000;

// Calls visit(start, end) for each address range of `die`.
template <typename Visit>
void for_each_range(Dwarf_Die& die, Visit visit) {
    Dwarf_Addr base = 0, start = 0, end = 0;
    std::ptrdiff_t offset = 0;
    for (std::size_t i = 0; i < most_ranges_of_a_die; ++i) {
        offset = dwarf_ranges(&die, offset, &base, &start, &end);
        if (offset <= 0) return;
        if (start < end) visit(start, end);
    }
}

const char* linkage_name(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    for (unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
        if (dwarf_attr_integrate(&die, name, &attribute) != nullptr)
            return dwarf_formstring(&attribute);
    return nullptr;
}

std::optional<std::uint32_t> number(Dwarf_Die& die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_attr(&die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0 ||
        value > UINT32_MAX)
        return std::nullopt;
    return static_cast<std::uint32_t>(value);
}

bool may_hold_code(int tag) {
    constexpr std::array tags{DW_TAG_inlined_subroutine, DW_TAG_subprogram,    DW_TAG_lexical_block,
                              DW_TAG_try_block,          DW_TAG_catch_block,   DW_TAG_namespace,
                              DW_TAG_class_type,         DW_TAG_structure_type};
    return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

}  // namespace

DebugInfo::DebugInfo(Dwarf* dwarf, Dwarf_Addr bias, StringPool& strings)
    : dwarf_(dwarf), bias_(bias), strings_(strings) {
    read_units();
}

// libdw's own look-up by address needs .debug_aranges, which clang does not write.
void DebugInfo::read_units() {
    std::vector<OwnedRange> ranges;
    Dwarf_CU* cu = nullptr;
    Dwarf_Die die, split;
    std::uint8_t type = 0;
    while (dwarf_get_units(dwarf_, cu, &cu, nullptr, &type, &die, &split) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
        bool is_split = type == DW_UT_skeleton && split.addr != nullptr;
        auto index = static_cast<std::uint32_t>(units_.size());
        units_.push_back({.die = die, .scopes = is_split ? split : die});
        for_each_range(die, [&](Dwarf_Addr start, Dwarf_Addr end) {
            // Functions that the linker dropped are left at address 0.
            if (start != 0) ranges.push_back({start, end, index});
        });
    }
    unit_index_ = RangeIndex(std::move(ranges));
}

void DebugInfo::describe(std::uint64_t address, CodeSymbol& symbol) {
    Dwarf_Addr in_dwarf = address - bias_;
    auto index = unit_index_.find(in_dwarf);
    if (!index) return;
    Unit& unit = units_[*index];
    if (Dwarf_Line* line = dwarf_getsrc_die(&unit.die, in_dwarf)) {
        const char* file = dwarf_linesrc(line, nullptr, nullptr);
        int number = 0;
        if (file != nullptr && dwarf_lineno(line, &number) == 0 && number > 0) {
            symbol.file = strings_.intern(file);
            symbol.line = static_cast<std::uint32_t>(number);
        }
    }
    if (!unit.loaded) load_inlined(unit);
    symbol.inlined = inlined_at(unit, in_dwarf);
}

struct DebugInfo::Walk {
    std::vector<Inlined> inlined;
    std::vector<OwnedRange> ranges;
    Dwarf_Off last_die = 0;
};

void DebugInfo::load_inlined(Unit& unit) {
    unit.loaded = true;
    Walk walk;
    collect_children(unit.scopes, none, 0, walk);
    unit.inlined = std::move(walk.inlined);
    unit.innermost = RangeIndex(std::move(walk.ranges));
}

void DebugInfo::collect_children(Dwarf_Die& parent, std::uint32_t around, int nesting, Walk& walk) {
    Dwarf_Die die;
    if (nesting > deepest_nesting || dwarf_child(&parent, &die) != 0) return;
    do {
        // Entries lie in the order of this walk; a tree that leads backwards is corrupt and
        // endless.
        Dwarf_Off offset = dwarf_dieoffset(&die);
        if (offset <= walk.last_die) return;
        walk.last_die = offset;
        std::uint32_t inside = around;
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_inlined_subroutine) {
            inside = static_cast<std::uint32_t>(walk.inlined.size());
            walk.inlined.push_back({offset, around, std::nullopt});
            for_each_range(die, [&](Dwarf_Addr start, Dwarf_Addr end) {
                walk.ranges.push_back({start, end, inside});
            });
        }
        if (may_hold_code(tag)) collect_children(die, inside, nesting + 1, walk);
    } while (dwarf_siblingof(&die, &die) == 0);
}

std::vector<InlinedFrame> DebugInfo::inlined_at(Unit& unit, Dwarf_Addr address) {
    std::vector<InlinedFrame> frames;
    for (std::uint32_t i = unit.innermost.find(address).value_or(none); i != none;
         i = unit.inlined[i].around) {
        Inlined& inlined = unit.inlined[i];
        if (!inlined.frame) inlined.frame = read_frame(unit, inlined.die);
        frames.push_back(*inlined.frame);
    }
    return frames;
}

InlinedFrame DebugInfo::read_frame(Unit& unit, Dwarf_Off die_offset) {
    InlinedFrame frame;
    Dwarf_Die die;
    // In split DWARF the offset counts in the .dwo file, not in dwarf_.
    if (dwarf_offdie(dwarf_cu_getdwarf(unit.scopes.cu), die_offset, &die) == nullptr) return frame;
    if (const char* linkage = linkage_name(die))
        frame.function = strings_.intern(demangle(linkage));
    else if (const char* name = dwarf_diename(&die))
        frame.function = strings_.intern(name);
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    auto file = number(die, DW_AT_call_file);
    if (file && dwarf_getsrcfiles(&unit.die, &files, &count) == 0 && *file < count)
        if (const char* path = dwarf_filesrc(files, *file, nullptr, nullptr))
            frame.file = strings_.intern(path);
    frame.line = number(die, DW_AT_call_line).value_or(0);
    return frame;
}

}  // namespace shadowprof
