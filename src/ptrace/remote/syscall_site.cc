#include "ptrace/remote/syscall_site.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
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

// memmem(3) is several times faster than std::search on code.
std::optional<std::size_t> find_bytes(std::span<const std::byte> bytes,
                                      std::span<const std::byte> sought, std::size_t from = 0) {
    const auto* begin = bytes.data() + from;
    const auto* found = ::memmem(begin, bytes.size() - from, sought.data(), sought.size());
    if (!found) return std::nullopt;
    return static_cast<std::size_t>(static_cast<const std::byte*>(found) - bytes.data());
}

std::optional<std::size_t> find_syscall(std::span<const std::byte> code, bool must_pop) {
    for (auto at = find_bytes(code, syscall_bytes); at;
         at = find_bytes(code, syscall_bytes, *at + 1)) {
        const auto next = *at + syscall_bytes.size();
        if (!must_pop || (next < code.size() && pops(code[next]))) return at;
    }
    return std::nullopt;
}

std::optional<GuestAddress> find_in_mapping(const Mapping& mapping, MemoryReader& memory,
                                            bool must_pop) {
    std::vector<std::byte> chunk;
    constexpr std::uint64_t overlap = syscall_bytes.size();
    for (GuestAddress at = mapping.start; at < mapping.end; at = at + chunk_bytes) {
        chunk.resize(std::min(chunk_bytes + overlap, mapping.end - at));
        if (!memory.read(at, chunk)) return std::nullopt;
        if (const auto found = find_syscall(chunk, must_pop)) return at + *found;
    }
    return std::nullopt;
}

constexpr std::uint64_t searched_code_bytes = 16 * 1024 * 1024;
constexpr std::array syscall_and_return = {std::byte{0x0f}, std::byte{0x05}, std::byte{0xc3}};
// The end of `mov $15, %eax` or `mov $15, %rax`, followed by `syscall`.
constexpr std::array sigreturn_tail = {std::byte{0x0f}, std::byte{0},    std::byte{0},
                                       std::byte{0},    std::byte{0x0f}, std::byte{0x05}};
constexpr std::array to_eax = {std::byte{0xb8}};
constexpr std::array to_rax = {std::byte{0x48}, std::byte{0xc7}, std::byte{0xc0}};

bool ends_with(std::span<const std::byte> bytes, std::span<const std::byte> end) {
    return bytes.size() >= end.size() && std::ranges::equal(bytes.last(end.size()), end);
}

std::optional<std::size_t> find_sigreturn(std::span<const std::byte> code) {
    for (auto at = find_bytes(code, sigreturn_tail); at;
         at = find_bytes(code, sigreturn_tail, *at + 1)) {
        const auto before = code.first(*at);
        if (ends_with(before, to_rax)) return *at - to_rax.size();
        if (ends_with(before, to_eax)) return *at - to_eax.size();
    }
    return std::nullopt;
}

bool is_c_library(const Mapping& mapping) {
    const auto name = std::string_view(mapping.name).substr(mapping.name.rfind('/') + 1);
    return name.starts_with("libc.") || name.starts_with("libc-") || name.starts_with("ld-musl") ||
           name.starts_with("libpthread");
}

// Returns the executable mappings to search, the likeliest first.
std::vector<const Mapping*> likely_code(const MemoryMap& map) {
    std::vector<const Mapping*> found;
    for (const Mapping& mapping : map.mappings())
        if (mapping.executable && mapping.readable && mapping.name != "[vsyscall]")
            found.push_back(&mapping);
    std::stable_partition(found.begin(), found.end(),
                          [](const Mapping* each) { return is_c_library(*each); });
    return found;
}

}  // namespace

std::optional<ReturnCode> find_return_code(const MemoryMap& map, MemoryReader& memory) {
    std::optional<GuestAddress> call, sigreturn;
    std::vector<std::byte> code;
    std::uint64_t left = searched_code_bytes;
    for (const Mapping* mapping : likely_code(map)) {
        code.resize(std::min(left, mapping->size_bytes()));
        if (!memory.read(mapping->start, code)) continue;
        left -= code.size();
        if (const auto at = find_bytes(code, syscall_and_return); at && !call)
            call = mapping->start + *at;
        if (const auto at = find_sigreturn(code); at && !sigreturn)
            sigreturn = mapping->start + *at;
        if (call && sigreturn) return ReturnCode{*call, *sigreturn};
    }
    return std::nullopt;
}

bool is_return_code(MemoryReader& memory, const ReturnCode& code) {
    using Sigreturn = std::array<std::byte, to_rax.size() + sigreturn_tail.size()>;
    const auto sigreturn = read_value<Sigreturn>(memory, code.sigreturn);
    return read_value<decltype(syscall_and_return)>(memory, code.call) == syscall_and_return &&
           sigreturn && find_sigreturn(*sigreturn) == 0;
}

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
