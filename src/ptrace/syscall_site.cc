#include "ptrace/syscall_site.h"

#include <algorithm>
#include <array>
#include <vector>

namespace shadowprof {
namespace {

constexpr std::array syscall_bytes = {std::byte{0x0f}, std::byte{0x05}};
constexpr std::uint64_t chunk_bytes = 256 * 1024;

// RET, LEAVE, POP of a register without prefix.
constexpr bool pops(std::byte opcode) {
    const auto value = std::to_integer<unsigned>(opcode);
    return value == 0xc3 || value == 0xc9 || (value & 0xf8) == 0x58;
}

std::optional<std::size_t> find_in(std::span<const std::byte> code, bool must_pop) {
    for (auto at = code.begin();; ++at) {
        at = std::search(at, code.end(), syscall_bytes.begin(), syscall_bytes.end());
        if (at == code.end()) return std::nullopt;
        const auto next = at + syscall_bytes.size();
        if (!must_pop || (next != code.end() && pops(*next)))
            return static_cast<std::size_t>(at - code.begin());
    }
}

std::optional<GuestAddress> find_in_mapping(const Mapping& mapping, MemoryReader& memory,
                                            bool must_pop) {
    std::vector<std::byte> chunk;
    constexpr std::uint64_t overlap = syscall_bytes.size();
    for (GuestAddress at = mapping.start; at < mapping.end; at = at + chunk_bytes) {
        chunk.resize(std::min(chunk_bytes + overlap, mapping.end - at));
        if (!memory.read(at, chunk)) return std::nullopt;
        if (const auto found = find_in(chunk, must_pop)) return at + *found;
    }
    return std::nullopt;
}

}  // namespace

std::optional<GuestAddress> find_syscall_instruction(const MemoryMap& map, MemoryReader& memory) {
    for (const bool vdso : {true, false}) {
        for (const bool must_pop : {true, false}) {
            for (const Mapping& mapping : map.mappings()) {
                if (!mapping.executable || (mapping.name == "[vdso]") != vdso) continue;
                if (mapping.name == "[vsyscall]") continue;
                if (const auto found = find_in_mapping(mapping, memory, must_pop)) return found;
            }
        }
    }
    return std::nullopt;
}

bool is_syscall_instruction(MemoryReader& memory, GuestAddress address) {
    return read_value<decltype(syscall_bytes)>(memory, address) == syscall_bytes;
}

}  // namespace shadowprof
