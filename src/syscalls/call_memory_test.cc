// The memory that calls read, and the memory of which they may write a part.
#include "syscalls/call_memory.h"

#include <asm/unistd.h>
#include <doctest/doctest.h>

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

}  // namespace shadowprof::call_memory_test
