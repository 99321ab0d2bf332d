#include "report/symbols/debug_info.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "report/symbols/elf/demangle.h"

namespace shadowprof {
namespace {

// Compilers do not write trees deeper than this.
constexpr int deepest_nesting = 200;
constexpr std::size_t max_ranges_of_a_die = 1'000'000;
// This attribute is on clang's inlined functions. Not every dwarf.h names it.
constexpr unsigned at_gnu_discriminator = 0x2136;

// Calls visit(start, end) for each address range of `die`.
template <typename Visit>
void for_each_range(Dwarf_Die& die, Visit visit) {
    Dwarf_Addr base = 0, start = 0, end = 0;
    std::ptrdiff_t offset = 0;
    for (std::size_t i = 0; i < max_ranges_of_a_die; ++i) {
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

std::optional<std::uint32_t> number(Dwarf_Attribute* attribute) {
    Dwarf_Word value = 0;
    if (attribute == nullptr || dwarf_formudata(attribute, &value) != 0 || value > UINT32_MAX)
        return std::nullopt;
    return static_cast<std::uint32_t>(value);
}

std::optional<std::uint32_t> number(Dwarf_Die& die, unsigned name) {
    Dwarf_Attribute attribute;
    return number(dwarf_attr(&die, name, &attribute));
}

// Returns the attribute `name` as a number, from `die` or from the DIE that it is an instance or
// the definition of.
std::optional<std::uint32_t> number_of_origin(Dwarf_Die& die, unsigned name) {
    Dwarf_Attribute attribute;
    return number(dwarf_attr_integrate(&die, name, &attribute));
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
        if (type == DW_UT_skeleton && !is_split) ++missing_units_;
        auto index = static_cast<std::uint32_t>(units_.size());
        units_.push_back({.die = die, .scopes = is_split ? split : die});
        for_each_range(die, [&](Dwarf_Addr start, Dwarf_Addr end) {
            // Functions that the linker dropped are left at address 0.
            if (start != 0) ranges.push_back({start, end, index});
        });
    }
    unit_index_ = RangeIndex(std::move(ranges));
}

std::vector<SourceRow> DebugInfo::lines(std::uint64_t start, std::uint64_t end) {
    std::vector<SourceRow> found;
    const Dwarf_Addr first = start >= bias_ ? start - bias_ : 0;
    const Dwarf_Addr last = end >= bias_ ? end - bias_ : 0;
    for (const OwnedRange& piece : unit_index_.pieces(first, last)) {
        Unit& unit = units_[piece.owner];
        load_rows(unit);
        const Dwarf_Addr from = std::max(piece.start, first);
        const Dwarf_Addr to = std::min(piece.end, last);
        for (const OwnedRange& part : unit.row_index.pieces(from, to)) {
            SourceRow row = unit.rows[part.owner];
            row.start = std::max(part.start, from) + bias_;
            row.end = std::min(part.end, to) + bias_;
            found.push_back(row);
        }
    }
    return found;
}

// A row extends to the next row of its sequence.
void DebugInfo::load_rows(Unit& unit) {
    if (std::exchange(unit.rows_loaded, true)) return;
    Dwarf_Lines* table = nullptr;
    std::size_t count = 0;
    if (dwarf_getsrclines(&unit.die, &table, &count) != 0) return;
    Dwarf_Attribute attribute;
    const char* directory = dwarf_attr(&unit.die, DW_AT_comp_dir, &attribute) != nullptr
                                ? dwarf_formstring(&attribute)
                                : nullptr;
    const std::string_view compiled_in = strings_.intern(directory ? directory : "");
    std::vector<OwnedRange> ranges;
    for (std::size_t i = 0; i + 1 < count; ++i) {
        Dwarf_Line* row = dwarf_onesrcline(table, i);
        Dwarf_Addr from = 0, to = 0;
        bool ends = false;
        int line = 0;
        unsigned discriminator = 0;
        if (dwarf_lineaddr(row, &from) != 0 || dwarf_lineendsequence(row, &ends) != 0 || ends ||
            dwarf_lineaddr(dwarf_onesrcline(table, i + 1), &to) != 0 || to <= from ||
            dwarf_lineno(row, &line) != 0 || line < 0 ||
            dwarf_linediscriminator(row, &discriminator) != 0)
            continue;
        const char* file = dwarf_linesrc(row, nullptr, nullptr);
        ranges.push_back({from, to, static_cast<std::uint32_t>(unit.rows.size())});
        unit.rows.push_back({from, to, strings_.intern(file ? file : ""),
                             static_cast<std::uint32_t>(line), discriminator, compiled_in});
    }
    unit.row_index = RangeIndex(std::move(ranges));
}

std::optional<SourcePosition> DebugInfo::position(std::uint64_t address) {
    const Dwarf_Addr in_dwarf = address - bias_;
    const auto index = unit_index_.find(in_dwarf);
    if (!index) return std::nullopt;
    Unit& unit = units_[*index];
    load_rows(unit);
    load_scopes(unit);
    const auto row = unit.row_index.find(in_dwarf);
    const auto innermost = unit.innermost.find(in_dwarf);
    if (!row || !innermost || unit.rows[*row].line == 0) return std::nullopt;
    SourcePosition position{unit.rows[*row].line, unit.rows[*row].discriminator, {}};
    for (std::uint32_t i = *innermost; i != none; i = unit.scope_list[i].around) {
        Scope& scope = unit.scope_list[i];
        if (!scope.function) scope.function = read_function(unit, scope.die);
        position.scopes.push_back(*scope.function);
    }
    std::reverse(position.scopes.begin(), position.scopes.end());
    return position;
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
    load_scopes(unit);
    symbol.inlined = inlined_at(unit, in_dwarf);
}

struct DebugInfo::Walk {
    std::vector<Scope> scopes;
    std::vector<OwnedRange> ranges;
    Dwarf_Off last_die = 0;
};

void DebugInfo::load_scopes(Unit& unit) {
    if (std::exchange(unit.scopes_loaded, true)) return;
    Walk walk;
    collect_children(unit.scopes, none, 0, walk);
    unit.scope_list = std::move(walk.scopes);
    unit.innermost = RangeIndex(std::move(walk.ranges));
}

void DebugInfo::collect_children(Dwarf_Die& parent, std::uint32_t around, int nesting, Walk& walk) {
    Dwarf_Die die;
    if (nesting > deepest_nesting || dwarf_child(&parent, &die) != 0) return;
    do {
        // Entries are in the order of this walk. A tree that leads backwards is corrupt and would
        // not end.
        Dwarf_Off offset = dwarf_dieoffset(&die);
        if (offset <= walk.last_die) return;
        walk.last_die = offset;
        std::uint32_t inside = around;
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram) {
            inside = static_cast<std::uint32_t>(walk.scopes.size());
            add_scope(die, tag == DW_TAG_subprogram ? none : around, walk);
        }
        if (may_hold_code(tag)) collect_children(die, inside, nesting + 1, walk);
    } while (dwarf_siblingof(&die, &die) == 0);
}

void DebugInfo::add_scope(Dwarf_Die& die, std::uint32_t around, Walk& walk) {
    const auto index = static_cast<std::uint32_t>(walk.scopes.size());
    walk.scopes.push_back({.die = dwarf_dieoffset(&die),
                           .around = around,
                           .is_inlined = dwarf_tag(&die) == DW_TAG_inlined_subroutine});
    for_each_range(die, [&](Dwarf_Addr start, Dwarf_Addr end) {
        walk.ranges.push_back({start, end, index});
    });
}

std::vector<InlinedFrame> DebugInfo::inlined_at(Unit& unit, Dwarf_Addr address) {
    std::vector<InlinedFrame> frames;
    for (std::uint32_t i = unit.innermost.find(address).value_or(none); i != none;
         i = unit.scope_list[i].around) {
        Scope& scope = unit.scope_list[i];
        if (!scope.is_inlined) continue;
        if (!scope.frame) scope.frame = read_frame(unit, scope.die);
        frames.push_back(*scope.frame);
    }
    return frames;
}

InlinedFrame DebugInfo::read_frame(Unit& unit, Dwarf_Off die_offset) {
    InlinedFrame frame;
    Dwarf_Die die;
    // In split DWARF the offset refers to the .dwo file, not to dwarf_.
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

FunctionScope DebugInfo::read_function(Unit& unit, Dwarf_Off die_offset) {
    FunctionScope function;
    Dwarf_Die die;
    if (dwarf_offdie(dwarf_cu_getdwarf(unit.scopes.cu), die_offset, &die) == nullptr)
        return function;
    if (const char* name = linkage_name(die))
        function.linkage_name = strings_.intern(name);
    else if (const char* plain = dwarf_diename(&die))
        function.linkage_name = strings_.intern(plain);
    function.declaration_line = number_of_origin(die, DW_AT_decl_line).value_or(0);
    function.call_line = number(die, DW_AT_call_line).value_or(0);
    function.call_discriminator = number(die, at_gnu_discriminator).value_or(0);
    return function;
}

}  // namespace shadowprof
