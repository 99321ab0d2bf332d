// The memory that a system call uses, by its row of the table and its arguments. Nothing here
// trusts the program's memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/memory_range.h"
#include "base/memory_reader.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

using CallArguments = std::array<std::uint64_t, 6>;

struct MemoryBytes {
    GuestAddress address;
    std::vector<std::byte> bytes;
};

// Memory of which only these parts are known.
class KnownMemory final : public MemoryReader {
  public:
    // `parts` must outlive it.
    explicit KnownMemory(const std::vector<MemoryBytes>& parts) : parts_(parts) {}
    bool read(GuestAddress from, std::span<std::byte> to) override;

  private:
    const std::vector<MemoryBytes>& parts_;
};

// What one call transfers at most: MAX_RW_COUNT, see read(2).
inline constexpr std::uint64_t max_transfer_bytes = 0x7ffff000;

// The result is -errno.
constexpr bool has_failed(std::uint64_t result) {
    return result > std::uint64_t(-4096);
}

// Nothing says what memory the call writes.
bool may_write_anywhere(const MemoryUse& use, const CallArguments& arguments);

// Whether what a call writes depends on memory as it was at its entry.
bool depends_on_argument_memory(const MemoryUse& use);

// The memory that the call's arguments point to and that it reads; to be taken at its entry.
// Nothing if that cannot be read, or is more than calls read.
std::optional<std::vector<MemoryBytes>> read_argument_memory(const MemoryUse& use,
                                                             const CallArguments& arguments,
                                                             MemoryReader& memory);

// What a call that returned `result`, a value or -errno, may have written: all of it, and of a call
// that has failed perhaps more. To be taken at its exit; `argument_memory` is from its entry.
// Nothing: it may have written anywhere.
std::optional<std::vector<MemoryRange>> written_ranges(const MemoryUse& use,
                                                       const CallArguments& arguments,
                                                       std::uint64_t result,
                                                       MemoryReader& argument_memory,
                                                       MemoryReader& memory);

// Reads all of them. Nothing if that cannot be done, or if they are larger than `most_bytes`.
std::optional<std::vector<MemoryBytes>> read_ranges(const std::vector<MemoryRange>& ranges,
                                                    MemoryReader& memory, std::size_t most_bytes);

// Descriptors that came within the messages of a call that returned `value`, by what it wrote.
std::vector<std::int32_t> received_descriptors(const MemoryUse& use, const CallArguments& arguments,
                                               std::uint64_t value, MemoryReader& argument_memory,
                                               MemoryReader& written);

}  // namespace shadowprof
