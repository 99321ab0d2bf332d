#include "emu/guest/vdso.h"

#include <elf.h>

#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace shadowprof {
namespace {

constexpr std::array<std::pair<std::string_view, VdsoFunction>, 5> names = {{
    {"__vdso_clock_gettime", VdsoFunction::clock_gettime},
    {"__vdso_gettimeofday", VdsoFunction::gettimeofday},
    {"__vdso_time", VdsoFunction::time},
    {"__vdso_clock_getres", VdsoFunction::clock_getres},
    {"__vdso_getcpu", VdsoFunction::getcpu},
}};

constexpr std::uint64_t image_limit_bytes = 64 * 1024;

// Reads a T at an offset of the image; nothing if it does not fit.
template <typename T>
std::optional<T> at(const std::vector<std::byte>& image, std::uint64_t offset) {
    if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, image.data() + offset, sizeof value);
    return value;
}

std::string_view string_at(const std::vector<std::byte>& image, std::uint64_t offset) {
    if (offset >= image.size()) return {};
    const auto* text = reinterpret_cast<const char*>(image.data() + offset);
    return {text, strnlen(text, image.size() - offset)};
}

// The section headers are within the mapped image.
std::optional<Elf64_Shdr> find_section(const std::vector<std::byte>& image, std::uint32_t type) {
    const auto header = at<Elf64_Ehdr>(image, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
        const auto section = at<Elf64_Shdr>(image, header->e_shoff + i * sizeof(Elf64_Shdr));
        if (section && section->sh_type == type) return section;
    }
    return std::nullopt;
}

}  // namespace

std::unordered_map<GuestAddress, VdsoFunction> find_vdso_functions(GuestSpace& space,
                                                                   const Mapping& mapping) {
    std::unordered_map<GuestAddress, VdsoFunction> result;
    if (mapping.size_bytes() > image_limit_bytes) return result;
    std::vector<std::byte> image(mapping.size_bytes());
    if (!space.read(mapping.start, image)) return result;
    const auto symbols = find_section(image, SHT_DYNSYM);
    if (!symbols) return result;
    const auto header = at<Elf64_Ehdr>(image, 0);
    const auto strings = at<Elf64_Shdr>(
        image, header->e_shoff + std::uint64_t{symbols->sh_link} * sizeof(Elf64_Shdr));
    if (!strings) return result;
    for (std::uint64_t at_byte = 0; at_byte < symbols->sh_size; at_byte += sizeof(Elf64_Sym)) {
        const auto symbol = at<Elf64_Sym>(image, symbols->sh_offset + at_byte);
        if (!symbol) break;
        const auto symbol_name = string_at(image, strings->sh_offset + symbol->st_name);
        for (const auto& [name, function] : names)
            if (name == symbol_name) result[mapping.start + symbol->st_value] = function;
    }
    return result;
}

void add_vsyscalls(const MemoryMap& layout,
                   std::unordered_map<GuestAddress, VdsoFunction>& functions) {
    constexpr GuestAddress page{0xffff'ffff'ff60'0000};
    const auto* mapping = layout.find(page);
    if (!mapping || !mapping->executable) return;
    functions[page] = VdsoFunction::gettimeofday;
    functions[page + 0x400] = VdsoFunction::time;
    functions[page + 0x800] = VdsoFunction::getcpu;
}

}  // namespace shadowprof
