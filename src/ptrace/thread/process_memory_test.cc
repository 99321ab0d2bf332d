#include "ptrace/thread/process_memory.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace shadowprof::process_memory_test {

TEST_CASE("pages are read each to its place, also behind ones that cannot be read") {
    // More pages than one call reads.
    constexpr std::size_t count = 150;
    auto* memory = static_cast<std::byte*>(mmap(nullptr, count * page_bytes, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory != MAP_FAILED);
    std::vector<GuestAddress> pages;
    for (std::size_t i = 0; i < count; ++i) {
        std::memset(memory + i * page_bytes, static_cast<int>(1 + i), page_bytes);
        pages.push_back({reinterpret_cast<std::uint64_t>(memory + i * page_bytes)});
    }
    for (const std::size_t gone : {std::size_t{0}, std::size_t{70}, std::size_t{71}, count - 1})
        REQUIRE(mprotect(memory + gone * page_bytes, page_bytes, PROT_NONE) == 0);
    std::vector<std::byte> to(count * page_bytes);
    const auto was_read = read_pages(getpid(), pages, to);
    REQUIRE(was_read.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
        const bool is_there = i != 0 && i != 70 && i != 71 && i != count - 1;
        CHECK(was_read[i] == is_there);
        const auto wanted = static_cast<std::byte>(is_there ? 1 + i : 0);
        CHECK(to[i * page_bytes] == wanted);
        CHECK(to[(i + 1) * page_bytes - 1] == wanted);
    }
    munmap(memory, count * page_bytes);
}

TEST_CASE("nothing is read of a process that is not there") {
    std::vector<std::byte> to(page_bytes);
    const GuestAddress here{reinterpret_cast<std::uint64_t>(&to)};
    CHECK(read_pages(-1, std::vector{here.page()}, to) == std::vector{false});
}

}  // namespace shadowprof::process_memory_test
