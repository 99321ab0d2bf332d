#include "report/symbols/elf/function_table.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include "report/symbols/elf/go_table.h"
#include "report/symbols/elf/plt.h"

namespace shadowprof {
namespace {

// A function symbol before aliases are resolved. The name stays in the file, as large programs have
// hundreds of thousands of symbols.
struct Candidate {
    std::uint64_t start = 0, end = 0;
    std::string_view name;
    bool local = false;
};

std::size_t leading_underscores(std::string_view name) {
    return std::min(name.find_first_not_of('_'), name.size());
}

// Whether a programmer would prefer `a` to `b`, two names for one address.
bool better_name(const Candidate& a, const Candidate& b) {
    const auto underscores_a = leading_underscores(a.name);
    const auto underscores_b = leading_underscores(b.name);
    return std::tie(underscores_a, a.local, a.name) < std::tie(underscores_b, b.local, b.name);
}

// Returns the name without the version that linkers append: memcpy@@GLIBC_2.14. Crystal's names
// have an @ inside.
std::string_view unversioned(std::string_view name) {
    const auto at = name.find('@');
    if (at == name.npos) return name;
    const auto is_of_version = [](char c) {
        return c == '@' || c == '_' || c == '.' || std::isalnum(static_cast<unsigned char>(c)) != 0;
    };
    return std::ranges::all_of(name.substr(at), is_of_version) ? name.substr(0, at) : name;
}

bool names_code(const GElf_Sym& symbol) {
    auto type = GELF_ST_TYPE(symbol.st_info);
    return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
           (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

const ElfSection* section_of(const std::vector<ElfSection>& sections, std::uint64_t address) {
    for (const ElfSection& s : sections)
        if (s.address <= address && address - s.address < s.size_bytes) return &s;
    return nullptr;
}

std::vector<Candidate> symbol_candidates(const ElfFile& file) {
    std::vector<Candidate> candidates;
    auto sections = file.executable_sections();
    const int count = dwfl_module_getsymtab(file.module());
    candidates.reserve(static_cast<std::size_t>(std::max(count, 0)));
    for (int i = 1; i < count; ++i) {
        GElf_Sym symbol;
        GElf_Addr address = 0;
        GElf_Word section_index = 0;
        const char* text = dwfl_module_getsym_info(file.module(), i, &symbol, &address,
                                                   &section_index, nullptr, nullptr);
        if (text == nullptr || !names_code(symbol)) continue;
        std::string_view name = unversioned(text);
        const ElfSection* section = section_of(sections, address);
        if (name.empty() || section == nullptr) continue;
        std::uint64_t room = section->size_bytes - (address - section->address);
        std::uint64_t size = std::min<std::uint64_t>(symbol.st_size, room);
        candidates.push_back(
            {address, address + size, name, GELF_ST_BIND(symbol.st_info) == STB_LOCAL});
    }
    return candidates;
}

// Keeps one function per address: the largest, with the best of its names. Labels inside a function
// are dropped.
NamedFunctions without_aliases(std::vector<Candidate> candidates) {
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        if (a.start != b.start) return a.start < b.start;
        if (a.end != b.end) return a.end > b.end;
        return better_name(a, b);
    });
    NamedFunctions list;
    auto& functions = list.functions;
    std::uint64_t covered_until = 0;
    functions.reserve(candidates.size());
    for (const Candidate& c : candidates) {
        if (!functions.empty() && functions.back().start == c.start) continue;
        if (c.start == c.end && c.start < covered_until) continue;
        covered_until = std::max(covered_until, c.end);
        functions.push_back({c.start, c.end, list.names.add(c.name)});
    }
    return list;
}

// Sets the end of functions without a size, which assembly may leave. The end is that of the unwind
// entry, or else the next function or the end of the section. `unwind` must be sorted.
void complete_sizes(std::vector<FunctionRange>& functions, std::span<const AddressRange> unwind,
                    const std::vector<ElfSection>& sections) {
    for (std::size_t i = 0; i < functions.size(); ++i) {
        FunctionRange& f = functions[i];
        if (f.end > f.start) continue;
        auto entry = std::upper_bound(
            unwind.begin(), unwind.end(), f.start,
            [](std::uint64_t address, const AddressRange& r) { return address < r.start; });
        bool in_entry = entry != unwind.begin() && f.start < std::prev(entry)->end;
        const ElfSection* section = section_of(sections, f.start);
        if (in_entry)
            f.end = std::prev(entry)->end;
        else if (section != nullptr)
            f.end = section->address + section->size_bytes;
        if (i + 1 < functions.size()) f.end = std::min(f.end, functions[i + 1].start);
    }
}

bool is_before(const FunctionRange& a, const FunctionRange& b) {
    return a.start < b.start;
}

// Merges `more`, which is sorted, into functions that are.
void merge_into(std::vector<FunctionRange>& functions, const std::vector<FunctionRange>& more) {
    const auto before = static_cast<std::ptrdiff_t>(functions.size());
    functions.insert(functions.end(), more.begin(), more.end());
    std::inplace_merge(functions.begin(), functions.begin() + before, functions.end(), is_before);
}

RangeIndex index_of(std::span<const FunctionRange> functions) {
    std::vector<OwnedRange> ranges;
    ranges.reserve(functions.size());
    for (std::uint32_t i = 0; i < functions.size(); ++i)
        ranges.push_back({functions[i].start, functions[i].end, i});
    return RangeIndex(std::move(ranges));
}

// Adds the functions of a Go program that have no symbols.
void add_go_functions(const GoTable& table, const std::vector<ElfSection>& code,
                      NamedFunctions& list) {
    if (list.functions.size() >= table.size()) return;
    const RangeIndex known = index_of(list.functions);
    std::vector<FunctionRange> more;
    table.for_each([&](std::uint64_t start, std::uint64_t end, std::string_view name) {
        const ElfSection* section = section_of(code, start);
        if (section != nullptr && end - section->address <= section->size_bytes &&
            known.pieces(start, end).empty())
            more.push_back({start, end, list.names.add(name)});
    });
    std::ranges::sort(more, is_before);
    merge_into(list.functions, more);
}

}  // namespace

FunctionTable::FunctionTable(NamedFunctions named, std::span<const AddressRange> unnamed)
    : functions_(std::move(named.functions)), names_(std::move(named.names)) {
    if (!std::ranges::is_sorted(functions_, is_before)) std::ranges::sort(functions_, is_before);
    build_index();
    add_unnamed(unnamed);
}

void FunctionTable::add_unnamed(std::span<const AddressRange> unnamed) {
    const auto& pieces = index_.pieces();
    std::vector<FunctionRange> extra;
    auto next = functions_.begin();
    auto piece = pieces.begin();
    for (const AddressRange& range : unnamed) {
        while (next != functions_.end() && next->start <= range.start) ++next;
        while (piece != pieces.end() && piece->end <= range.start) ++piece;
        const bool begins_inside = next != functions_.end() && next->start < range.end;
        const bool is_covered = piece != pieces.end() && piece->start <= range.start;
        if (!begins_inside && !is_covered) extra.push_back({range.start, range.end, {}});
    }
    if (extra.empty()) return;
    functions_.insert(functions_.end(), extra.begin(), extra.end());
    build_index();
}

void FunctionTable::build_index() {
    index_ = index_of(functions_);
}

const FunctionRange* FunctionTable::find(std::uint64_t address) const {
    auto owner = index_.find(address);
    return owner ? &functions_[*owner] : nullptr;
}

bool FunctionTable::has_names() const {
    return std::any_of(functions_.begin(), functions_.end(), [](const FunctionRange& f) {
        return !f.name.empty() && !f.name.ends_with(plt_suffix);
    });
}

FunctionTable read_functions(const ElfFile& file) {
    std::vector<AddressRange> unwind;
    if (auto section = file.section(".eh_frame"))
        unwind = eh_frame_ranges(section->bytes, section->address);
    if (!std::ranges::is_sorted(unwind)) std::ranges::sort(unwind);
    auto list = without_aliases(symbol_candidates(file));
    const auto code = file.executable_sections();
    complete_sizes(list.functions, unwind, code);
    if (const auto table = GoTable::of(file)) add_go_functions(*table, code, list);
    auto plt = plt_functions(file, list.functions, list.names);
    std::ranges::sort(plt, is_before);
    merge_into(list.functions, plt);
    return FunctionTable(std::move(list), unwind);
}

}  // namespace shadowprof
