#include "ptrace/unwind/frame_section.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/files/fd.h"

namespace shadowprof {
namespace {

constexpr std::size_t largest_section = std::size_t{64} << 20;
constexpr std::size_t max_sections = 4096, largest_names = std::size_t{1} << 20;

constexpr std::uint8_t format_mask = 0x0f, data8 = 0x04, sdata8 = 0x0c, absptr = 0x00;

template <typename T>
std::optional<T> read(std::span<const std::byte> bytes, std::size_t at) {
    if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

bool skip_leb128(std::span<const std::byte> bytes, std::size_t& at) {
    while (at < bytes.size())
        if ((bytes[at++] & std::byte{0x80}) == std::byte{0}) return true;
    return false;
}

// Whether the FDEs of a common information entry have the usual form of addresses. `at` is behind
// the entry's id.
bool has_usual_addresses(std::span<const std::byte> bytes, std::size_t at) {
    const auto version = read<std::uint8_t>(bytes, at++);
    std::string_view letters(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    letters.remove_prefix(std::min(at, letters.size()));
    letters = letters.substr(0, letters.find('\0'));
    at += letters.size() + 1;
    if (!version || !letters.starts_with('z')) return false;
    if (!skip_leb128(bytes, at) || !skip_leb128(bytes, at)) return false;  // the alignments
    if (*version == 1)
        ++at;
    else if (!skip_leb128(bytes, at))  // the register of the return address
        return false;
    if (!skip_leb128(bytes, at)) return false;  // the length of what follows
    for (const char letter : letters.substr(1)) {
        if (letter == 'S' || letter == 'B') continue;
        const auto encoding = read<std::uint8_t>(bytes, at++);
        if (!encoding) return false;
        if (letter == 'R') return *encoding == pcrel_sdata4;
        if (letter != 'P') continue;
        const auto format = *encoding & format_mask;
        at += format == data8 || format == sdata8 || format == absptr ? 8 : 4;
    }
    return false;
}

std::optional<std::int32_t> difference(std::uint64_t address, GuestAddress base) {
    const auto distance = static_cast<std::int64_t>(address - base.value);
    using Limits = std::numeric_limits<std::int32_t>;
    if (distance < Limits::min() || distance > Limits::max()) return std::nullopt;
    return static_cast<std::int32_t>(distance);
}

bool read_at(int fd, std::uint64_t offset, std::span<std::byte> to) {
    return ::pread(fd, to.data(), to.size(), static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(to.size());
}

UniqueFd open_mapped(const Mapping& mapping) {
    struct stat status;
    UniqueFd fd(::open(mapping.name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_ino != mapping.inode)
        return {};
    return fd;
}

}  // namespace

std::vector<FrameEntry> frame_entries(std::span<const std::byte> section, GuestAddress address,
                                      GuestAddress base) {
    std::vector<FrameEntry> entries;
    std::unordered_map<std::size_t, bool> usual;  // by offset of the common information entry
    for (std::size_t at = 0; at < section.size();) {
        const auto length = read<std::uint32_t>(section, at);
        const std::size_t id_at = at + sizeof *length;
        if (!length || *length == UINT32_MAX || *length > section.size() - id_at) break;
        const auto id = read<std::uint32_t>(section.first(id_at + *length), id_at);
        const std::size_t record = std::exchange(at, id_at + *length);
        if (!id) continue;  // a terminator; linkers may leave several
        if (*id == 0) {
            usual[record] = has_usual_addresses(section.first(at), id_at + sizeof *id);
            continue;
        }
        const auto common = usual.find(id_at - *id);
        const auto distance = read<std::int32_t>(section.first(at), id_at + sizeof *id);
        if (common == usual.end() || !common->second || !distance) continue;
        const std::uint64_t field = address.value + id_at + sizeof *id;
        const auto start =
            difference(field + static_cast<std::uint64_t>(std::int64_t{*distance}), base);
        const auto frame = difference(address.value + record, base);
        if (start && frame) entries.push_back({*start, *frame});
    }
    std::ranges::sort(entries, {}, &FrameEntry::start);
    return entries;
}

std::optional<FrameSection> read_frame_section(const Mapping& mapping) {
    const UniqueFd fd = open_mapped(mapping);
    Elf64_Ehdr header;
    if (!fd || !read_at(fd.get(), 0, std::as_writable_bytes(std::span(&header, 1))) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shnum > max_sections || header.e_shstrndx >= header.e_shnum)
        return std::nullopt;
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    if (!read_at(fd.get(), header.e_shoff, std::as_writable_bytes(std::span(sections))))
        return std::nullopt;
    const Elf64_Shdr& of_names = sections[header.e_shstrndx];
    if (of_names.sh_size > largest_names) return std::nullopt;
    std::string names(of_names.sh_size, '\0');
    if (!read_at(fd.get(), of_names.sh_offset, std::as_writable_bytes(std::span(names))))
        return std::nullopt;
    for (const Elf64_Shdr& each : sections) {
        const std::string_view name =
            std::string_view(names).substr(std::min<std::size_t>(each.sh_name, names.size()));
        if (name.substr(0, name.find('\0')) != ".eh_frame" || each.sh_type == SHT_NOBITS ||
            each.sh_size > largest_section)
            continue;
        FrameSection found{each.sh_addr, std::vector<std::byte>(each.sh_size)};
        if (read_at(fd.get(), each.sh_offset, found.bytes)) return found;
    }
    return std::nullopt;
}

}  // namespace shadowprof
