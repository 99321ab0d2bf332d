#include "ptrace/unwind/unwind_module.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace shadowprof {
namespace {

constexpr std::size_t max_program_headers = 128;

// Pointer encodings (Linux Standard Base Core 5.0, 10.5.1).
constexpr std::uint8_t pcrel_sdata8 = 0x1c;
constexpr std::uint8_t udata4 = 0x03, datarel_sdata4 = 0x3b;

struct HeaderStart {
    std::uint8_t version, frame_encoding, count_encoding, table_encoding;
};

std::vector<Elf64_Phdr> read_program_headers(GuestAddress start, MemoryReader& memory) {
    const auto header = read_value<Elf64_Ehdr>(memory, start);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr))
        return {};
    std::vector<Elf64_Phdr> headers(std::min<std::size_t>(header->e_phnum, max_program_headers));
    if (!memory.read(start + header->e_phoff, std::as_writable_bytes(std::span(headers))))
        return {};
    return headers;
}

const Elf64_Phdr* find_header(const std::vector<Elf64_Phdr>& headers, std::uint32_t type) {
    const auto it = std::find_if(headers.begin(), headers.end(),
                                 [type](const Elf64_Phdr& h) { return h.p_type == type; });
    return it == headers.end() ? nullptr : &*it;
}

std::optional<std::uint64_t> pointer_bytes(std::uint8_t encoding) {
    if (encoding == pcrel_sdata4) return 4;
    if (encoding == pcrel_sdata8) return 8;
    return std::nullopt;
}

std::optional<UnwindTable> made_table(const Mapping& header_mapping, std::uint64_t bias) {
    const auto section = read_frame_section(header_mapping);
    if (!section) return std::nullopt;
    auto entries = frame_entries(section->bytes, {bias + section->address}, header_mapping.start);
    if (entries.empty()) return std::nullopt;
    const std::uint64_t count = entries.size();
    return UnwindTable{header_mapping.start, made_entries, count, std::move(entries)};
}

}  // namespace

const Mapping* find_elf_header(const MemoryMap& map, const Mapping& code) {
    if (!code.is_file()) return code.name == "[vdso]" ? &code : nullptr;
    const auto& all = map.mappings();
    // The last one at offset 0 that does not begin after the code, because a file may be mapped
    // twice.
    const auto behind = std::upper_bound(
        all.begin(), all.end(), code.start,
        [](GuestAddress address, const Mapping& mapping) { return address < mapping.start; });
    const auto it =
        std::find_if(std::make_reverse_iterator(behind), all.rend(), [&](const Mapping& m) {
            return m.file_offset == 0 && m.inode == code.inode && m.device == code.device;
        });
    return it == all.rend() ? nullptr : &*it;
}

std::optional<UnwindTable> find_unwind_table(const Mapping& header_mapping, MemoryReader& memory) {
    const auto headers = read_program_headers(header_mapping.start, memory);
    const Elf64_Phdr* load = find_header(headers, PT_LOAD);  // the first has the ELF header
    const Elf64_Phdr* frames = find_header(headers, PT_GNU_EH_FRAME);
    if (!load || load->p_offset >= page_bytes) return std::nullopt;
    const std::uint64_t bias = header_mapping.start.value - (load->p_vaddr - load->p_offset);
    if (!frames) return made_table(header_mapping, bias);
    const GuestAddress header{bias + frames->p_vaddr};

    const auto start = read_value<HeaderStart>(memory, header);
    if (!start || start->version != 1) return std::nullopt;
    const auto frame_bytes = pointer_bytes(start->frame_encoding);
    if (!frame_bytes || start->count_encoding != udata4 || start->table_encoding != datarel_sdata4)
        return std::nullopt;
    const std::uint64_t before_count = sizeof(HeaderStart) + *frame_bytes;
    const std::uint64_t before_entries = before_count + sizeof(std::uint32_t);
    const auto count = read_value<std::uint32_t>(memory, header + before_count);
    if (!count || frames->p_memsz < before_entries) return std::nullopt;
    const std::uint64_t room = (frames->p_memsz - before_entries) / 8;
    return UnwindTable{header, header + before_entries, std::min<std::uint64_t>(*count, room)};
}

}  // namespace shadowprof
