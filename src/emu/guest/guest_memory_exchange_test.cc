// Guest memory beside the memory of the process that makes the guest's system calls.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "emu/guest/guest_memory.h"
#include "emu/guest/test_process.h"

namespace shadowprof::guest_memory_exchange_test {
namespace {

constexpr auto base = TestProcess::base;
constexpr auto process_pages = TestProcess::pages;

Mapping memory_at(std::uint64_t first_page, std::uint64_t count) {
    return TestProcess::mapping(first_page, count);
}

struct Pair {
    TestProcess process;
    GuestMemory memory;

    explicit Pair(MemoryMap map = MemoryMap({memory_at(0, process_pages)})) {
        REQUIRE(memory.begin(std::move(map), process, PageUse::tracked));
    }
    void put(std::uint64_t offset, std::uint8_t value) {
        const auto byte = static_cast<std::byte>(value);
        REQUIRE(memory.write(base + offset, {&byte, 1}));
    }
    int get(std::uint64_t offset) {
        std::byte byte{};
        REQUIRE(memory.read(base + offset, {&byte, 1}));
        return std::to_integer<int>(byte);
    }
    int in_process(std::uint64_t offset) { return std::to_integer<int>(process.at(offset)); }
};

MemoryRange range(std::uint64_t start, std::uint64_t end) {
    return {base + start, base + end};
}

}  // namespace

TEST_CASE("the process gets what was written in the given ranges, and nothing else") {
    Pair p;
    p.put(10, 1);
    p.put(20, 2);
    p.put(3 * page_bytes, 3);
    REQUIRE(p.get(5 * page_bytes) == 0);
    REQUIRE(
        p.memory.give(std::array{range(0, 15), range(5 * page_bytes, 6 * page_bytes)}, p.process));
    CHECK(p.in_process(10) == 1);
    CHECK(p.in_process(20) == 0);
    CHECK(p.in_process(3 * page_bytes) == 0);
    CHECK(p.process.written == 15);
}

TEST_CASE("the process can get everything, and what is not written again is then no news") {
    Pair p;
    p.put(10, 1);
    p.put(100 * page_bytes + 7, 2);
    REQUIRE(p.memory.give_all(p.process));
    CHECK(p.in_process(10) == 1);
    CHECK(p.in_process(100 * page_bytes + 7) == 2);
    for (int i = 0; i < 200; ++i) REQUIRE(p.memory.give_all(p.process));
    const auto before = p.process.written;
    REQUIRE(p.memory.give_all(p.process));
    CHECK(p.process.written == before);
    p.put(10, 4);
    REQUIRE(p.memory.give_all(p.process));
    CHECK(p.in_process(10) == 4);
}

TEST_CASE("what the kernel wrote is taken to the byte, beside what the guest wrote") {
    Pair p;
    p.put(10, 1);
    p.put(20, 2);
    p.process.at(10) = std::byte{7};
    p.process.at(20) = std::byte{8};
    p.memory.take(std::array{range(20, 21)}, p.process);
    CHECK(p.get(10) == 1);
    CHECK(p.get(20) == 8);
}

TEST_CASE("what was emptied although it cannot be written to is seen, and still cannot") {
    auto mapping = memory_at(0, process_pages);
    mapping.writable = false;
    Pair p(MemoryMap({mapping}));
    p.process.at(10) = std::byte{7};
    REQUIRE(p.get(10) == 7);
    p.process.at(10) = std::byte{0};
    p.memory.take(std::array{range(0, page_bytes)}, p.process);
    CHECK(p.get(10) == 0);
    CHECK(p.memory.on_fault(base + 10, true) == GuestMemory::Fault::guest);
}

TEST_CASE("what the kernel has taken away with the end of a file is lost here, too") {
    for (const bool gives_all : {false, true}) {
        auto mapping = memory_at(0, process_pages);
        mapping.inode = 1;
        Pair p(MemoryMap({mapping}));
        p.put(10, 1);
        p.put(page_bytes + 10, 2);
        p.process.first_page = 1;
        const auto some = std::array{range(0, 2 * page_bytes)};
        REQUIRE((gives_all ? p.memory.give_all(p.process) : p.memory.give(some, p.process)));
        CHECK(p.in_process(page_bytes + 10) == 2);
        CHECK(p.memory.on_fault(base + 10, false) == GuestMemory::Fault::unreadable);
        CHECK(p.get(page_bytes + 10) == 2);
    }
    // Other memory must not be lost.
    Pair p;
    p.put(10, 1);
    p.process.first_page = 1;
    CHECK_FALSE(p.memory.give_all(p.process));
    CHECK(p.get(10) == 1);
}

TEST_CASE("what the kernel may write for one process is another one's own") {
    Pair p;
    p.memory.leave_to_kernel({range(0, 100)});
    REQUIRE(p.memory.begin(MemoryMap({memory_at(0, process_pages)}), p.process, PageUse::tracked));
    p.put(10, 1);
    REQUIRE(p.memory.give_all(p.process));
    CHECK(p.in_process(10) == 1);
}

TEST_CASE("much that the kernel wrote is fetched when it is touched") {
    Pair p;
    constexpr auto end = 100 * page_bytes + 5;
    for (const auto offset : {std::uint64_t{3}, 50 * page_bytes, end, end + 1}) p.put(offset, 1);
    for (auto& byte : p.process.bytes) byte = std::byte{9};
    p.memory.take(std::array{range(4, end + 1)}, p.process);
    CHECK(p.get(3) == 1);
    CHECK(p.get(4) == 9);
    CHECK(p.get(50 * page_bytes) == 9);
    CHECK(p.get(end) == 9);
    CHECK(p.get(end + 1) == 1);
}

TEST_CASE("bytes that the process cannot show any more are gone, as those of guards") {
    Pair p;
    p.put(10, 1);
    p.process.first_page = 1;
    p.memory.take(std::array{range(0, 100)}, p.process);
    std::byte byte{};
    CHECK_FALSE(p.memory.read(base + 10, {&byte, 1}));
    CHECK(p.memory.give(std::array{range(0, 100)}, p.process));
}

TEST_CASE("a stack that the guest has made larger shows what the kernel wrote there") {
    constexpr std::uint64_t old_start = 64;
    auto stack = memory_at(old_start, process_pages - old_start);
    stack.name = "[stack]";
    Pair p{MemoryMap({stack})};
    p.process.first_page = old_start;
    p.put((old_start - 4) * page_bytes, 1);
    CHECK(p.get((old_start - 2) * page_bytes) == 0);
    // The kernel makes the process's stack larger as it is written to.
    p.process.first_page = 0;
    REQUIRE(p.memory.give_stack(p.process));
    CHECK(p.in_process((old_start - 4) * page_bytes) == 1);
    p.process.at((old_start - 3) * page_bytes) = std::byte{5};
    CHECK(p.get((old_start - 3) * page_bytes) == 5);
}

TEST_CASE("a shared file is the file itself") {
    UniqueFd file(memfd_create("shared", MFD_CLOEXEC));
    REQUIRE(ftruncate(file.get(), 4 * page_bytes) == 0);
    auto mapping = memory_at(0, 4);
    mapping.shared = true;
    mapping.device = 1;
    mapping.inode = 2;
    Pair p{MemoryMap({mapping})};
    REQUIRE(p.get(page_bytes) == 0);
    const int descriptor = dup(file.get());
    p.memory.share_file(1, 2, UniqueFd(descriptor));
    p.put(page_bytes + 1, 6);
    std::array<std::uint8_t, 2> seen = {3, 0};
    REQUIRE(pread(file.get(), &seen[1], 1, page_bytes + 1) == 1);
    CHECK(seen[1] == 6);
    REQUIRE(pwrite(file.get(), seen.data(), 1, page_bytes) == 1);
    CHECK(p.get(page_bytes) == 3);
    REQUIRE(p.memory.give_all(p.process));
    CHECK(p.process.written == 0);
}

}  // namespace shadowprof::guest_memory_exchange_test
