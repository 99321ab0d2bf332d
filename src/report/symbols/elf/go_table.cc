#include "report/symbols/elf/go_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace shadowprof {

// Which words of the header say where the parts of the table are.
struct GoTableVersion {
    std::uint32_t magic;
    std::uint8_t text_start, names, units, files, rows, functions;
    std::uint8_t address_bytes;  // 8: addresses; 4: distances from the start of the code
};

namespace {

// Such a part is at the table's start, and its offsets count from there.
constexpr std::uint8_t whole_table = 0xff;
constexpr std::uint64_t header_bytes = 8;

constexpr std::array versions = {
    GoTableVersion{0xfffffffb, whole_table, whole_table, whole_table, whole_table, whole_table,
                   whole_table, 8},                             // Go 1.2
    GoTableVersion{0xfffffffa, whole_table, 2, 3, 4, 5, 6, 8},  // 1.16
    GoTableVersion{0xfffffff0, 2, 3, 4, 5, 6, 7, 4},            // 1.18
    GoTableVersion{0xfffffff1, 2, 3, 4, 5, 6, 7, 4},            // 1.20
};

// Offsets in a function's record, behind the function's address.
enum : std::uint64_t { at_name = 0, at_files = 16, at_lines = 20, at_unit = 28 };

template <typename T>
std::optional<T> read(std::span<const std::byte> bytes, std::uint64_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

// Rows of addresses and a value each, as pairs of differences.
class Rows {
  public:
    Rows(std::span<const std::byte> bytes, std::uint64_t start) : bytes_(bytes), end_(start) {}

    // Goes to the next row. False behind the last one, or where the bytes make no sense.
    bool next() {
        const auto zigzag = number();
        if (!zigzag || (*zigzag == 0 && !is_first_)) return false;
        const auto length = number();
        if (!length || *length == 0 || *length > UINT32_MAX) return false;
        is_first_ = false;
        const auto half = *zigzag >> 1;
        value_ += (*zigzag & 1) != 0 ? ~half : half;
        end_ += *length;
        return true;
    }
    std::uint64_t end() const { return end_; }
    std::int64_t value() const { return static_cast<std::int64_t>(value_); }

  private:
    std::optional<std::uint64_t> number() {
        std::uint64_t number = 0;
        for (unsigned shift = 0; shift < 35; shift += 7) {
            if (bytes_.empty()) return std::nullopt;
            const auto byte = static_cast<std::uint8_t>(bytes_.front());
            bytes_ = bytes_.subspan(1);
            number |= std::uint64_t{byte & 0x7fu} << shift;
            if ((byte & 0x80) == 0) return number;
        }
        return std::nullopt;
    }

    std::span<const std::byte> bytes_;
    std::uint64_t end_;
    std::uint64_t value_ = ~std::uint64_t{0};  // -1, by the format
    bool is_first_ = true;
};

// Position-independent programs get the address of their code by a relocation.
std::optional<std::uint64_t> relocated_word(Elf* elf, std::uint64_t address) {
    for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn; scn = elf_nextscn(elf, scn)) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) == nullptr || header.sh_type != SHT_RELA) continue;
        Elf_Data* const relocations = elf_getdata(scn, nullptr);
        GElf_Rela rela;
        for (int i = 0; relocations && gelf_getrela(relocations, i, &rela) != nullptr; ++i)
            if (rela.r_offset == address && GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
                return static_cast<std::uint64_t>(rela.r_addend);
    }
    return std::nullopt;
}

// The start of code if it is certainly that of Go's part of the program, which has a mark there.
std::optional<std::uint64_t> marked_text_start(const ElfFile& file) {
    constexpr std::string_view mark = "\xff Go build ID";
    const auto code = file.section(".text");
    if (!code || code->bytes.size() < mark.size() ||
        std::memcmp(code->bytes.data(), mark.data(), mark.size()) != 0)
        return std::nullopt;
    return code->address;
}

}  // namespace

std::optional<GoTable> GoTable::of(const ElfFile& file) {
    for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
        const auto section = file.section(name);
        if (!section) continue;
        constexpr std::uint64_t text_word = header_bytes + 16;
        auto text_start = relocated_word(file.elf(), section->address + text_word);
        return parse(section->bytes, text_start ? text_start : marked_text_start(file));
    }
    return std::nullopt;
}

std::optional<GoTable> GoTable::parse(std::span<const std::byte> table,
                                      std::optional<std::uint64_t> text_start) {
    const auto magic = read<std::uint32_t>(table, 0);
    const auto* const version = std::ranges::find_if(
        versions, [&](const GoTableVersion& each) { return magic == each.magic; });
    constexpr auto pointer_bytes = std::byte{8};
    if (version == versions.end() || table.size() < header_bytes || table[7] != pointer_bytes)
        return std::nullopt;
    if (version->text_start != whole_table) {
        const auto in_table = read<std::uint64_t>(table, header_bytes + 8 * version->text_start);
        if (in_table.value_or(0) != 0) text_start = in_table;
        if (!text_start) return std::nullopt;
    }
    GoTable made(table, *version, text_start.value_or(0));
    const auto count = made.word(header_bytes);
    const auto functions = version->functions == whole_table ? std::optional(header_bytes + 8)
                                                             : made.part(version->functions);
    if (!count || !functions || *functions > table.size()) return std::nullopt;
    // Each has an address and the offset of its record. The end of the last one follows.
    const std::uint64_t entry_bytes = 2 * version->address_bytes;
    const std::uint64_t room = (table.size() - *functions) / entry_bytes;
    made.functions_ = *functions;
    made.count_ = std::min(*count, room);
    return made;
}

std::optional<std::uint64_t> GoTable::word(std::uint64_t offset) const {
    return read<std::uint64_t>(table_, offset);
}

std::optional<std::uint32_t> GoTable::half(std::uint64_t offset) const {
    return read<std::uint32_t>(table_, offset);
}

std::optional<std::uint64_t> GoTable::part(std::uint8_t word_of_header) const {
    if (word_of_header == whole_table) return 0;
    const auto offset = word(header_bytes + 8 * std::uint64_t{word_of_header});
    return offset && *offset < table_.size() ? offset : std::nullopt;
}

std::string_view GoTable::text(std::uint64_t offset) const {
    if (offset >= table_.size()) return {};
    const auto* const start = reinterpret_cast<const char*>(table_.data() + offset);
    const std::size_t room = table_.size() - offset;
    const std::size_t length = ::strnlen(start, room);
    return length < room ? std::string_view(start, length) : std::string_view();
}

// A number of the list of functions.
std::optional<std::uint64_t> GoTable::listed(std::uint64_t offset) const {
    if (version_->address_bytes == sizeof(std::uint64_t)) return word(offset);
    const auto number = half(offset);
    if (!number) return std::nullopt;
    return *number;
}

// With the index behind the last function, where that one ends.
std::optional<std::uint64_t> GoTable::start_of(std::uint64_t index) const {
    const auto number = listed(functions_ + index * 2 * version_->address_bytes);
    if (!number) return std::nullopt;
    return version_->address_bytes == sizeof(std::uint64_t) ? *number : text_start_ + *number;
}

std::optional<GoTable::Function> GoTable::function(std::uint64_t index) const {
    const auto start = start_of(index), next = start_of(index + 1);
    const auto record = listed(functions_ + (2 * index + 1) * version_->address_bytes);
    if (!start || !next || !record || *start == 0 || *next <= *start || *record > table_.size())
        return std::nullopt;
    const std::uint64_t base = version_->functions == whole_table ? 0 : functions_;
    return Function{*start, *next, base + *record + version_->address_bytes};
}

// Each row is longer than nothing, so that the work is bounded by the function's length.
std::uint64_t GoTable::end_of_rows(const Function& function) const {
    const auto base = part(version_->rows);
    const auto offset = half(function.record + at_lines);
    if (!base || !offset || *offset == 0 || *base + *offset >= table_.size()) return function.next;
    Rows rows(table_.subspan(*base + *offset), function.start);
    while (rows.end() < function.next && rows.next()) {
    }
    return std::min(rows.end(), function.next);
}

void GoTable::for_each(
    const std::function<void(std::uint64_t, std::uint64_t, std::string_view)>& visit) const {
    const auto names = part(version_->names);
    if (!names) return;
    for (std::uint64_t i = 0; i < count_; ++i) {
        const auto found = function(i);
        const auto offset = found ? half(found->record + at_name) : std::nullopt;
        if (!offset) continue;
        const auto name = text(*names + *offset);
        const auto end = end_of_rows(*found);
        if (!name.empty() && found->start < end) visit(found->start, end, name);
    }
}

// The value of the row of `address` among the function's rows that begin where `rows_at` says.
std::optional<std::int64_t> GoTable::value_at(std::uint64_t address, std::uint64_t rows_at,
                                              const Function& function) const {
    const auto base = part(version_->rows);
    const auto offset = half(function.record + rows_at);
    if (!base || !offset || *offset == 0 || *base + *offset >= table_.size()) return std::nullopt;
    Rows rows(table_.subspan(*base + *offset), function.start);
    while (rows.next())
        if (address < rows.end()) return rows.value();
    return std::nullopt;
}

std::string_view GoTable::file(const Function& function, std::uint64_t number) const {
    constexpr std::uint64_t bytes = sizeof(std::uint32_t);
    if (version_->files == whole_table) {
        const auto list = half(functions_ + count_ * 2 * version_->address_bytes + 8);
        const auto offset = list ? half(*list + number * bytes) : std::nullopt;
        return offset ? text(*offset) : std::string_view();
    }
    const auto units = part(version_->units), files = part(version_->files);
    const auto unit = half(function.record + at_unit);
    if (!units || !files || !unit) return {};
    const auto offset = half(*units + (*unit + number) * bytes);
    return offset && *offset != UINT32_MAX ? text(*files + *offset) : std::string_view();
}

std::optional<GoTable::Line> GoTable::line(std::uint64_t address) const {
    std::uint64_t low = 0, high = count_;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        const auto start = start_of(middle);
        if (start && *start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const auto found = low > 0 ? function(low - 1) : std::nullopt;
    if (!found || address >= found->next) return std::nullopt;
    const auto number = value_at(address, at_files, *found);
    const auto line = value_at(address, at_lines, *found);
    if (!number || !line || *number < 0 || *line <= 0 || *number > INT32_MAX || *line > INT32_MAX)
        return std::nullopt;
    const auto path = file(*found, static_cast<std::uint64_t>(*number));
    if (path.empty()) return std::nullopt;
    return Line{path, static_cast<std::uint32_t>(*line)};
}

}  // namespace shadowprof
