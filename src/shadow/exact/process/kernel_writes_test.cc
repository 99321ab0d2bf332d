#include "shadow/exact/process/kernel_writes.h"

#include <asm/unistd.h>
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

namespace shadowprof::kernel_writes_test {
namespace {

using Ranges = std::vector<MemoryRange>;

KernelWrites writes_of(const PassedSyscall& call) {
    const std::vector<MemoryBytes> nothing;
    KnownMemory memory(nothing);
    return shadowprof::writes_of(call, needed_memory(call, memory), memory);
}

TEST_CASE("a read writes what it returned") {
    CHECK(writes_of({__NR_read, {0, 0x1000, 500}, 120}).ranges == Ranges{{{0x1000}, {0x1078}}});
    CHECK(writes_of({__NR_read, {0, 0x1000, 500}, std::uint64_t(-9)}).ranges.empty());
}

TEST_CASE("a call that is not known may have written anywhere and mapped anything") {
    for (const std::uint64_t number :
         {std::uint64_t{__NR_vfork}, std::uint64_t{__NR_io_uring_enter}, std::uint64_t{__NR_execve},
          std::uint64_t{100'000}}) {
        const auto writes = writes_of({number, {}, 0});
        CHECK(writes.ranges == Ranges{MemoryRange::all()});
        CHECK(writes.layout);
    }
}

TEST_CASE("a call that reads into vectors writes as much as it returned") {
    const std::array<std::uint64_t, 4> vectors = {0x3000, 10, 0x5000, 20};
    const auto bytes = std::as_bytes(std::span(vectors));
    const std::vector<MemoryBytes> at_entry = {{{0x1000}, {bytes.begin(), bytes.end()}}};
    KnownMemory memory(at_entry);
    const PassedSyscall call{__NR_readv, {0, 0x1000, 2}, 15};
    const auto needed = needed_memory(call, memory);
    REQUIRE(needed);
    const std::vector<MemoryBytes> gone;
    KnownMemory at_exit(gone);
    const auto writes = shadowprof::writes_of(call, needed, at_exit);
    CHECK(writes.ranges == Ranges{{{0x3000}, {0x300a}}, {{0x5000}, {0x5005}}});
    CHECK_FALSE(writes.layout);
    const PassedSyscall unreadable{__NR_readv, {0, 0x2000, 2}, 15};
    CHECK_FALSE(needed_memory(unreadable, memory));
    CHECK(shadowprof::writes_of(unreadable, std::nullopt, memory).ranges ==
          Ranges{MemoryRange::all()});
}

TEST_CASE("what may be written beyond the facts of a call is anything") {
    constexpr std::uint64_t max_messages = 1024, max_descriptors = 1 << 20;
    CHECK(writes_of({__NR_getsockopt, {3, 1, 26, 0x1000, 0x2000}, 0}).ranges ==
          Ranges{MemoryRange::all()});
    const std::vector<std::byte> headers((max_messages + 1) * 64);
    const std::vector<MemoryBytes> at_entry = {{{0x10000}, headers}};
    KnownMemory memory(at_entry);
    const PassedSyscall many{__NR_recvmmsg, {3, 0x10000, 2 * max_messages}, max_messages + 1};
    CHECK(shadowprof::writes_of(many, needed_memory(many, memory), memory).ranges ==
          Ranges{MemoryRange::all()});
    const PassedSyscall few{__NR_recvmmsg, {3, 0x10000, 2 * max_messages}, 2};
    CHECK_FALSE(shadowprof::writes_of(few, needed_memory(few, memory), memory).ranges ==
                Ranges{MemoryRange::all()});
    CHECK(writes_of({__NR_select, {max_descriptors + 1, 0x1000}, 0}).ranges ==
          Ranges{MemoryRange::all()});
    CHECK_FALSE(writes_of({__NR_select, {max_descriptors, 0x1000}, 0}).ranges ==
                Ranges{MemoryRange::all()});
}

TEST_CASE("a socket's name without room for it has its size written") {
    const std::array<std::uint32_t, 1> room = {0};
    const auto bytes = std::as_bytes(std::span(room));
    const std::vector<MemoryBytes> at_entry = {{{0x2000}, {bytes.begin(), bytes.end()}}};
    KnownMemory memory(at_entry);
    const PassedSyscall name{__NR_getsockname, {3, 0, 0x2000}, 0};
    CHECK(shadowprof::writes_of(name, needed_memory(name, memory), memory).ranges ==
          Ranges{{{0x2000}, {0x2004}}});
}

TEST_CASE("a call that failed may have written all the same") {
    constexpr auto no_room = std::uint64_t(-ERANGE), bad_address = std::uint64_t(-EFAULT);
    const std::array<std::uint32_t, 1> room = {4};
    const auto bytes = std::as_bytes(std::span(room));
    const std::vector<MemoryBytes> at_entry = {{{0x2000}, {bytes.begin(), bytes.end()}}};
    KnownMemory memory(at_entry);
    const PassedSyscall name{__NR_getsockname, {3, 0x1000, 0x2000}, no_room};
    CHECK(shadowprof::writes_of(name, needed_memory(name, memory), memory).ranges ==
          Ranges{{{0x2000}, {0x2004}}});
    const PassedSyscall received{__NR_recvfrom, {3, 0x1000, 500}, no_room};
    CHECK(writes_of(received).ranges == Ranges{{{0x1000}, {0x11f4}}});
    CHECK(writes_of({__NR_read, {0, 0x1000, 500}, bad_address}).ranges ==
          Ranges{MemoryRange::all()});
    CHECK(writes_of({__NR_write, {0, 0x1000, 500}, bad_address}).ranges.empty());
}

TEST_CASE("an ioctl writes what its request says, or anything") {
    constexpr std::uint64_t window_size = 0x5413, unknown = 0x1234;
    CHECK(writes_of({__NR_ioctl, {1, window_size, 0x1000}, 0}).ranges ==
          Ranges{{{0x1000}, {0x1008}}});
    CHECK(writes_of({__NR_ioctl, {1, unknown, 0x1000}, 0}).ranges == Ranges{MemoryRange::all()});
}

TEST_CASE("a mapping is looked for anew, and what was there before is not kept") {
    const auto writes = writes_of({__NR_mmap, {0, 0x2000}, 0x7000});
    CHECK(writes.layout);
    const MemoryRange placed{{0x7000}, {0x9000}};
    CHECK(std::find(writes.ranges.begin(), writes.ranges.end(), placed) != writes.ranges.end());
}

TEST_CASE("what is moved is looked for anew in both places") {
    const auto writes = writes_of({__NR_mremap, {0x2000, 0x1000, 0x3000}, 0x7000});
    CHECK(writes.layout);
    CHECK(writes.ranges == Ranges{{{0x2000}, {0x3000}}, {{0x7000}, {0xa000}}});
    CHECK(writes_of({__NR_mremap, {0x2000, 0x1000, 0x3000}, std::uint64_t(-12)}).ranges.size() ==
          1);
}

TEST_CASE("calls after which the mappings may be others") {
    for (const auto number :
         {__NR_mmap, __NR_munmap, __NR_brk, __NR_mprotect, __NR_mremap, __NR_shmat})
        CHECK(may_change_layout(static_cast<std::uint64_t>(number)));
    for (const auto number : {__NR_read, __NR_write, __NR_fork})
        CHECK_FALSE(may_change_layout(static_cast<std::uint64_t>(number)));
    CHECK_FALSE(may_change_layout(~std::uint64_t{0}));
}

TEST_CASE("sizes that do not fit end at the highest address") {
    const auto writes = writes_of({__NR_poll, {~std::uint64_t{15}, ~std::uint64_t{0}}, 0});
    for (const auto& range : writes.ranges) CHECK(range.start <= range.end);
}

}  // namespace
}  // namespace shadowprof::kernel_writes_test
