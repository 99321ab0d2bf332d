// The memory that calls read, and the memory of which they may write a part.
#include "syscalls/call_memory.h"

#include <asm/unistd.h>
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "syscalls/syscall_lookup.h"

namespace shadowprof::call_memory_test {
namespace {

using Ranges = std::vector<MemoryRange>;

// Memory from 0x1000 on, of which the rest cannot be read.
class Memory final : public MemoryReader {
  public:
    bool read(GuestAddress from, std::span<std::byte> to) override {
        if (from.value < start || from.value - start + to.size() > bytes.size()) return false;
        std::memcpy(to.data(), &bytes[from.value - start], to.size());
        return true;
    }
    template <typename T>
    void put(std::uint64_t at, const T& value) {
        std::memcpy(&bytes[at - start], &value, sizeof value);
    }

  private:
    static constexpr std::uint64_t start = 0x1000;
    std::vector<std::byte> bytes = std::vector<std::byte>(0x3000);
};

std::optional<Ranges> reads(std::uint64_t number, const CallArguments& arguments, Memory& memory) {
    return ranges_read(find_syscall_facts(number)->memory, arguments, memory);
}

std::optional<Ranges> maybe_written(std::uint64_t number, const CallArguments& arguments) {
    Memory memory;
    return ranges_maybe_written(find_syscall_facts(number)->memory, arguments, memory);
}

MemoryRange range(std::uint64_t start, std::uint64_t end) {
    return {{start}, {end}};
}

}  // namespace

TEST_CASE("a buffer and a path are read as far as they go") {
    Memory memory;
    memory.put(0x1ffd, std::array{'/', 'a', 'b', 'c', '\0'});
    CHECK(reads(__NR_write, {1, 0x2000, 5}, memory) == Ranges{range(0x2000, 0x2005)});
    CHECK(reads(__NR_openat, {0, 0x1ffd}, memory) == Ranges{range(0x1ffd, 0x2002)});
    CHECK(reads(__NR_read, {1, 0x2000, 5}, memory) == Ranges{});
    CHECK(reads(__NR_close, {1}, memory) == Ranges{});
}

TEST_CASE("a path that leaves readable memory is read up to there") {
    Memory memory;
    memory.put(0x3ffe, std::array{'/', 'a'});
    CHECK(reads(__NR_openat, {0, 0x3ffe}, memory) == Ranges{range(0x3ffe, 0x4000)});
    CHECK(reads(__NR_openat, {0, 0x9000}, memory) == Ranges{});
}

TEST_CASE("vectors and messages are read with what they point to") {
    Memory memory;
    memory.put(0x1000, std::array<std::uint64_t, 4>{0x2000, 3, 0x2100, 4});
    const Ranges gathered = {range(0x1000, 0x1020), range(0x2000, 0x2003), range(0x2100, 0x2104)};
    CHECK(reads(__NR_writev, {1, 0x1000, 2}, memory) == gathered);
    CHECK(reads(__NR_readv, {1, 0x1000, 2}, memory) == Ranges{range(0x1000, 0x1020)});
    // struct msghdr: name, its size, vectors, their number, control data, their size.
    memory.put(0x1100, std::array<std::uint64_t, 6>{0x2200, 16, 0x1000, 2, 0x2300, 24});
    const auto sent = reads(__NR_sendmsg, {1, 0x1100}, memory);
    REQUIRE(sent);
    for (const auto& each : gathered)
        CHECK(std::find(sent->begin(), sent->end(), each) != sent->end());
    CHECK(std::find(sent->begin(), sent->end(), range(0x2200, 0x2210)) != sent->end());
    CHECK(std::find(sent->begin(), sent->end(), range(0x2300, 0x2318)) != sent->end());
}

TEST_CASE("calls of which it is not known what they read or write") {
    constexpr std::uint64_t window_size = 0x5413, set_nonblocking = 0x5421, unknown = 0x1234;
    Memory memory;
    CHECK_FALSE(reads(__NR_execve, {0x1000}, memory));
    CHECK_FALSE(reads(__NR_ioctl, {1, unknown, 0x1000}, memory));
    CHECK(reads(__NR_ioctl, {1, window_size, 0x1000}, memory) == Ranges{});
    CHECK(reads(__NR_ioctl, {1, set_nonblocking, 0x1000}, memory) == Ranges{range(0x1000, 0x1004)});
    CHECK_FALSE(maybe_written(__NR_ioctl, {1, unknown, 0x1000}));
}

TEST_CASE("what is written whole if at all may be left, what the result counts may not") {
    CHECK(maybe_written(__NR_fstat, {1, 0x1000}) == Ranges{range(0x1000, 0x1000 + 144)});
    CHECK(maybe_written(__NR_poll, {0x1000, 3}) == Ranges{range(0x1000, 0x1018)});
    CHECK(maybe_written(__NR_read, {1, 0x1000, 500}) == Ranges{});
    CHECK(maybe_written(__NR_write, {1, 0x1000, 500}) == Ranges{});
}

TEST_CASE("calls that change mappings change whole pages") {
    Memory memory;
    CHECK(reads(__NR_mprotect, {0x1000, 5000, 1}, memory) == Ranges{range(0x1000, 0x3000)});
    CHECK(reads(__NR_mlock, {0x1fff, 2}, memory) == Ranges{range(0x1000, 0x3000)});
    CHECK(reads(__NR_mprotect, {0x1000, 0, 1}, memory) == Ranges{});
    const auto highest = reads(__NR_mprotect, {0x1000, ~std::uint64_t{0}, 1}, memory);
    REQUIRE((highest && highest->size() == 1));
    CHECK(highest->front().end.value > std::uint64_t{1} << 63);
    // They may have been emptied, also by a call that fails.
    CHECK(maybe_written(__NR_madvise, {0x1000, 1, MADV_DONTNEED}) == Ranges{range(0x1000, 0x2000)});
    CHECK(maybe_written(__NR_munmap, {0x1000, 1}) == Ranges{});
    const CallArguments moved = {0x1000, 1, 0x1001, MREMAP_MAYMOVE | MREMAP_FIXED, 0x5000};
    CHECK(maybe_written(__NR_mremap, moved) ==
          Ranges{range(0x1000, 0x2000), range(0x5000, 0x7000)});
    CHECK(maybe_written(__NR_mremap, {0x1000, 1, 0x1001, MREMAP_MAYMOVE, 0x5000}) ==
          Ranges{range(0x1000, 0x2000)});
}

TEST_CASE("the mask of pselect6 is behind a pointer and a size") {
    Memory memory;
    memory.put(0x1800, std::array<std::uint64_t, 2>{0x1900, 8});
    CHECK(reads(__NR_pselect6, {65, 0x1000, 0, 0x1100, 0x1200, 0x1800}, memory) ==
          Ranges{range(0x1000, 0x1010), range(0x1100, 0x1110), range(0x1200, 0x1210),
                 range(0x1800, 0x1810), range(0x1900, 0x1908)});
    CHECK(reads(__NR_pselect6, {1, 0, 0, 0, 0, 0}, memory) == Ranges{});
}

TEST_CASE("several messages are read one by one: those that come without their buffers") {
    Memory memory;
    for (const std::uint64_t at : {0x1000u, 0x1040u}) {
        memory.put(at + 16, std::array<std::uint64_t, 2>{0x2000 + at, 1});
        memory.put(0x2000 + at, std::array<std::uint64_t, 2>{0x1800 + at, 5});
    }
    CHECK(reads(__NR_recvmmsg, {3, 0x1000, 2}, memory) ==
          Ranges{range(0x1000, 0x100c), range(0x1010, 0x1030), range(0x3000, 0x3010),
                 range(0x1040, 0x104c), range(0x1050, 0x1070), range(0x3040, 0x3050)});
    const auto sent = reads(__NR_sendmmsg, {3, 0x1000, 2}, memory);
    REQUIRE(sent);
    CHECK(std::ranges::count(*sent, range(0x2800, 0x2805)) == 1);
    CHECK(std::ranges::count(*sent, range(0x2840, 0x2845)) == 1);
    CHECK(maybe_written(__NR_sendmmsg, {3, 0x1000, 2}) == Ranges{range(0x1000, 0x1080)});
}

TEST_CASE("while a call is under way, all of its buffers may be written to") {
    Memory memory;
    const auto under_way = [&](std::uint64_t number, const CallArguments& arguments) {
        return ranges_written_under_way(find_syscall_facts(number)->memory, arguments, memory);
    };
    CHECK(under_way(__NR_read, {0, 0x2000, 100}) == Ranges{range(0x2000, 0x2064)});
    CHECK(under_way(__NR_getrandom, {0x2000, 16}) == Ranges{range(0x2000, 0x2010)});
    CHECK(under_way(__NR_epoll_wait, {3, 0x2000, 2}) == Ranges{range(0x2000, 0x2018)});
    CHECK(under_way(__NR_write, {1, 0x2000, 5}) == Ranges{});
    CHECK(!under_way(__NR_io_getevents, {}));

    memory.put(0x1000, std::array<std::uint64_t, 2>{0x3000, 7});
    const auto vectors = under_way(__NR_readv, {0, 0x1000, 1});
    REQUIRE(vectors);
    CHECK(std::ranges::count(*vectors, range(0x3000, 0x3007)) == 1);
    memory.put(0x1810, std::array<std::uint64_t, 2>{0x1000, 1});
    for (const auto number : {__NR_recvmsg, __NR_recvmmsg}) {
        const auto message = under_way(static_cast<std::uint64_t>(number), {3, 0x1800, 1});
        REQUIRE(message);
        CHECK(std::ranges::count(*message, range(0x3000, 0x3007)) == 1);
    }
}

// Where it is not known what such a call reads or writes, it holds up all other threads.
TEST_CASE("what calls that wait read and write is known") {
    Memory memory;
    for (const auto number : {__NR_poll,
                              __NR_ppoll,
                              __NR_select,
                              __NR_pselect6,
                              __NR_epoll_wait,
                              __NR_epoll_pwait,
                              __NR_wait4,
                              __NR_waitid,
                              __NR_pause,
                              __NR_rt_sigsuspend,
                              __NR_rt_sigtimedwait,
                              __NR_nanosleep,
                              __NR_clock_nanosleep,
                              __NR_futex,
                              __NR_semop,
                              __NR_semtimedop,
                              __NR_mq_timedsend,
                              __NR_mq_timedreceive,
                              __NR_flock,
                              __NR_accept,
                              __NR_accept4,
                              __NR_connect,
                              __NR_recvfrom,
                              __NR_recvmsg,
                              __NR_recvmmsg,
                              __NR_sendto,
                              __NR_sendmsg,
                              __NR_sendmmsg,
                              __NR_read,
                              __NR_readv,
                              __NR_write,
                              __NR_writev,
                              __NR_splice,
                              __NR_tee,
                              __NR_sendfile}) {
        CAPTURE(number);
        const auto* facts = find_syscall_facts(static_cast<std::uint64_t>(number));
        REQUIRE(facts);
        CHECK(facts->memory.is_known);
        CHECK(facts->memory.knows_reads);
        CHECK(!may_change_layout(static_cast<std::uint64_t>(number)));
    }
}

}  // namespace shadowprof::call_memory_test
