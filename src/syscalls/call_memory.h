// The memory that a system call uses, according to its row of the table and its arguments. Nothing
// here trusts the program's memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/memory_range.h"
#include "base/memory_reader.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

struct MemoryBytes {
    GuestAddress address;
    std::vector<std::byte> bytes;
};

// A memory of which only some parts are known.
class KnownMemory final : public MemoryReader {
  public:
    // `parts` must outlive it.
    explicit KnownMemory(const std::vector<MemoryBytes>& parts) : parts_(parts) {}
    bool read(GuestAddress from, std::span<std::byte> to) override;

  private:
    const std::vector<MemoryBytes>& parts_;
};

// The most bytes that one call transfers: MAX_RW_COUNT, see read(2).
inline constexpr std::uint64_t max_transfer_bytes = 0x7ffff000;

// Whether the result is -errno.
constexpr bool has_failed(std::uint64_t result) {
    return result > std::uint64_t(-4096);
}

// Whether the mappings may be others behind a call with this number.
bool may_change_layout(std::uint64_t number);

// Whether it is unknown what memory the call writes.
bool may_write_anywhere(const MemoryUse& use, const CallArguments& arguments);

// Whether the memory that the call writes depends on memory at its entry.
bool depends_on_argument_memory(const MemoryUse& use);

// Reads the memory that the call's arguments point to and that the call reads. Call it at the
// call's entry. Returns nothing if that memory cannot be read or is too large.
std::optional<std::vector<MemoryBytes>> read_argument_memory(const MemoryUse& use,
                                                             const CallArguments& arguments,
                                                             MemoryReader& memory);

// Returns ranges that include all that a call wrote which returned `result`, a value or -errno. For
// a call that failed they may include more. Call it at the call's exit; `argument_memory` is from
// its entry. Returns nothing if the call may have written anywhere.
std::optional<std::vector<MemoryRange>> written_ranges(const MemoryUse& use,
                                                       const CallArguments& arguments,
                                                       std::uint64_t result,
                                                       MemoryReader& argument_memory,
                                                       MemoryReader& memory);

// Returns ranges that include all that the call reads. `memory` is the memory at its entry. Returns
// nothing if the call may read anywhere.
std::optional<std::vector<MemoryRange>> ranges_read(const MemoryUse& use,
                                                    const CallArguments& arguments,
                                                    MemoryReader& memory);

// Returns the ranges that the call may write to at any time while it is under way. `memory` is the
// memory at its entry. Returns nothing if the call may write anywhere.
std::optional<std::vector<MemoryRange>> ranges_written_under_way(const MemoryUse& use,
                                                                 const CallArguments& arguments,
                                                                 MemoryReader& memory);

// Returns the ranges of which the call may leave a part as it was although written_ranges() names
// them. `memory` is the memory at its entry. Returns nothing if the call may write anywhere.
std::optional<std::vector<MemoryRange>> ranges_maybe_written(const MemoryUse& use,
                                                             const CallArguments& arguments,
                                                             MemoryReader& memory);

// Reads all ranges. Returns nothing if this fails or if they have more than `max_bytes` together.
std::optional<std::vector<MemoryBytes>> read_ranges(const std::vector<MemoryRange>& ranges,
                                                    MemoryReader& memory, std::size_t max_bytes);

// Returns the descriptors in messages that a call received. The call returned `value`, and
// `written` is the memory that it wrote.
std::vector<std::int32_t> received_descriptors(const MemoryUse& use, const CallArguments& arguments,
                                               std::uint64_t value, MemoryReader& argument_memory,
                                               MemoryReader& written);

}  // namespace shadowprof
