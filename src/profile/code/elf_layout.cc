#include "profile/code/elf_layout.h"

#include <fmt/format.h>
#include <gelf.h>

#include <memory>
#include <span>

#include "base/guest_address.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_segments = 4096;
constexpr std::uint64_t max_note_bytes = 1 << 20;
constexpr std::size_t max_build_id_bytes = 64;

struct ElfEnd {
    void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfEnd>;

std::string hexadecimal(std::span<const unsigned char> bytes) {
    std::string text;
    for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
}

// Returns the build-id in a PT_NOTE segment, or an empty string.
std::string find_build_id(Elf* elf, const GElf_Phdr& header) {
    if (header.p_filesz > max_note_bytes) return {};
    Elf_Data* data =
        elf_getdata_rawchunk(elf, static_cast<std::int64_t>(header.p_offset), header.p_filesz,
                             header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    if (!data) return {};
    GElf_Nhdr note;
    std::size_t name = 0, content = 0;
    for (std::size_t at = 0; (at = gelf_getnote(data, at, &note, &name, &content)) > 0;) {
        const auto* bytes = static_cast<const unsigned char*>(data->d_buf);
        const bool gnu = note.n_namesz == 4 &&
                         std::string_view("GNU\0", 4) ==
                             std::string_view(reinterpret_cast<const char*>(bytes + name), 4);
        if (gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= max_build_id_bytes)
            return hexadecimal({bytes + content, note.n_descsz});
    }
    return {};
}

std::uint64_t page_up(std::uint64_t value) {
    return (value + page_bytes - 1) & ~(page_bytes - 1);
}

bool is_plausible(const LoadSegment& s) {
    constexpr std::uint64_t limit = std::uint64_t{1} << 62;
    return s.offset < limit && s.file_bytes < limit &&
           s.offset % page_bytes == s.address % page_bytes;
}

}  // namespace

Result<ElfLayout> ElfLayout::read(int fd) {
    if (elf_version(EV_CURRENT) == EV_NONE)
        return Error{ErrorCode::unsupported, 0, "libelf is too old"};
    ElfHandle elf(elf_begin(fd, ELF_C_READ, nullptr));
    if (!elf || elf_kind(elf.get()) != ELF_K_ELF)
        return Error{ErrorCode::unsupported, 0, "not an ELF file"};
    std::size_t headers = 0;
    if (elf_getphdrnum(elf.get(), &headers) != 0 || headers > max_segments)
        return Error{ErrorCode::invalid, 0, "bad program headers"};
    ElfLayout layout;
    for (std::size_t i = 0; i < headers; ++i) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf.get(), static_cast<int>(i), &header))
            return Error{ErrorCode::invalid, 0, elf_errmsg(-1)};
        if (header.p_type == PT_NOTE && layout.build_id_.empty())
            layout.build_id_ = find_build_id(elf.get(), header);
        LoadSegment segment{header.p_offset, header.p_filesz, header.p_vaddr,
                            (header.p_flags & PF_X) != 0};
        if (header.p_type == PT_LOAD && is_plausible(segment)) layout.segments_.push_back(segment);
    }
    return layout;
}

std::optional<std::uint64_t> ElfLayout::address_of(std::uint64_t file_offset) const {
    const LoadSegment* best = nullptr;
    int best_rank = -1;
    for (const LoadSegment& s : segments_) {
        const std::uint64_t first_page = s.offset & ~(page_bytes - 1);
        if (file_offset < first_page || file_offset >= page_up(s.offset + s.file_bytes)) continue;
        const bool holds = file_offset >= s.offset && file_offset - s.offset < s.file_bytes;
        const int rank = (holds ? 2 : 0) + (s.executable ? 1 : 0);
        if (rank > best_rank) best = &s, best_rank = rank;
    }
    if (!best) return std::nullopt;
    return best->address + (file_offset - best->offset);
}

}  // namespace shadowprof
