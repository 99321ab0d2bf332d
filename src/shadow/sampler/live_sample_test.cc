// The parts of live samples: their times, and the stacks that are copied in them.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "base/files/fd.h"
#include "ptrace/proc/proc.h"
#include "ptrace/thread/process_memory.h"
#include "shadow/budget/live_account.h"
#include "shadow/window/stack_copies.h"

namespace shadowprof::live_sample_test {
using namespace std::chrono_literals;

namespace {

GuestAddress address_of(const void* object) {
    return {reinterpret_cast<std::uint64_t>(object)};
}

// Some pages, and a last one that cannot be accessed.
class Pages {
  public:
    explicit Pages(std::size_t count) : bytes_((count + 1) * page_bytes) {
        at_ = static_cast<std::byte*>(
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        std::memset(at_, 1, bytes_ - page_bytes);
        mprotect(end(), page_bytes, PROT_NONE);
    }
    ~Pages() { munmap(at_, bytes_); }
    std::byte* begin() const { return at_; }
    std::byte* end() const { return at_ + bytes_ - page_bytes; }

  private:
    std::size_t bytes_;
    std::byte* at_;
};

}  // namespace

TEST_CASE("what live samples came to") {
    LiveAccount account;
    account.add_stop(1ms, 2ms);
    account.add_stop(2ms + 30us, 2ms);
    account.add_stop(2ms + 10us, 2ms);
    account.add_cut();
    account.add_cut();
    account.add_emulation(100, 30);
    account.add_emulation(200, 0);
    account.add_discarded();
    account.add_rehearsal(5000, 70);
    account.add_rehearsal(1000, 20);
    std::map<std::string, std::uint64_t> counters;
    account.fill(counters);
    CHECK(counters == std::map<std::string, std::uint64_t>{{"live_samples_cut_by_time", 2},
                                                           {"live_samples_discarded", 1},
                                                           {"live_excess_max_us", 30},
                                                           {"live_emulation_ns", 300},
                                                           {"live_translation_ns", 30},
                                                           {"rehearsed_instructions", 6000},
                                                           {"rehearsal_ns", 90}});
}

TEST_CASE("a copied stack is as it was, up to where it ends") {
    const Pages stack(3);
    const auto map = read_memory_map(getpid());
    const auto memory = open_process_memory(getpid(), O_RDONLY);
    REQUIRE(map);
    REQUIRE(memory);
    StackCopies copies;
    copies.begin();
    CHECK_FALSE(copies.has(0));
    copies.copy(getpid(), 2, address_of(stack.begin() + page_bytes + 100));
    CHECK(copies.has(2));
    CHECK_FALSE(copies.has(0));
    CHECK_FALSE(copies.has(1));
    std::memset(stack.begin(), 2, 3 * page_bytes);
    copies.copy(getpid(), 2, address_of(stack.begin()));

    CopiedStack copied(copies[2], *map, memory->get());
    std::array<std::byte, 16> bytes;
    for (const auto* at : {stack.begin() + page_bytes, stack.end() - bytes.size()}) {
        bytes.fill({});
        REQUIRE(copied.read(address_of(at), bytes));
        CHECK(std::ranges::count(bytes, std::byte{1}) == 16);
    }
    CHECK_FALSE(copied.read(address_of(stack.end() - 1), bytes));
    CHECK_FALSE(copied.read(address_of(stack.begin()), bytes));
    CHECK_FALSE(copied.lost());
    copies.begin();
    CHECK_FALSE(copies.has(2));
}

TEST_CASE("beside a copied stack only what cannot change is read, as long as it is there") {
    const Pages stack(1);
    const auto map = read_memory_map(getpid());
    const auto memory = open_process_memory(getpid(), O_RDONLY);
    REQUIRE(map);
    StackCopies copies;
    copies.begin();
    copies.copy(getpid(), 0, address_of(stack.begin()));
    static int variable = 1;
    static const std::array<char, 16> constant = {"constant"};
    std::array<char, 16> bytes;
    CopiedStack copied(copies[0], *map, memory->get());
    CHECK_FALSE(copied.read(address_of(&variable), std::as_writable_bytes(std::span(bytes))));
    CHECK(copied.read(address_of(&constant), std::as_writable_bytes(std::span(bytes))));
    CHECK(bytes == constant);
    CHECK_FALSE(copied.lost());
    CopiedStack gone(copies[0], *map, -1);
    CHECK_FALSE(gone.read(address_of(&constant), std::as_writable_bytes(std::span(bytes))));
    CHECK(gone.lost());
}

}  // namespace shadowprof::live_sample_test
