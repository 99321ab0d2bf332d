#include "ptrace/replica/unforked_memory.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "ptrace/test_support.h"

namespace shadowprof::unforked_memory_test {
namespace {

constexpr auto left_out = UnforkedRange::Mark::left_out;
constexpr auto wiped = UnforkedRange::Mark::wiped;

std::string mapping(std::string_view range, std::string_view rights, std::string_view flags) {
    return fmt::format("{} {}p 00000000 00:00 0 \nSize:  4 kB\nVmFlags: {} \n", range, rights,
                       flags);
}

}  // namespace

TEST_CASE("memory that forks leave out is found, joined over holes but not over other memory") {
    const auto text = mapping("1000-2000", "rw-", "rd wr mr mw me dc") +
                      mapping("2000-3000", "---", "mr mw me dc") +
                      mapping("5000-6000", "r-x", "rd ex mr mw me dc nr") +
                      mapping("7000-8000", "rw-", "rd wr mr mw me") +
                      mapping("8000-9000", "---", "mr mw me dc") +
                      mapping("9000-a000", "rw-", "rd wr mr mw me dc") +
                      mapping("a000-b000", "rw-", "rd wr io dc");
    auto ranges = parse_unforked_ranges(text);
    CHECK(need(ranges) == std::vector<UnforkedRange>{{{{0x1000}, {0x6000}}, left_out},
                                                     {{{0x9000}, {0xa000}}, left_out}});
}

TEST_CASE("memory that forks show as zeros is found, but for what the kernel lets nobody change") {
    const auto text = mapping("1000-2000", "rw-", "rd wr mr mw me wf") +
                      mapping("2000-3000", "rw-", "rd wr mr mw me dc wf") +
                      mapping("3000-4000", "rw-", "rd wr mr mw me wf dp");
    auto ranges = parse_unforked_ranges(text);
    CHECK(need(ranges) == std::vector<UnforkedRange>{{{{0x2000}, {0x3000}}, left_out},
                                                     {{{0x1000}, {0x3000}}, wiped}});
}

TEST_CASE("texts that are no smaps are refused or say nothing, and never more than that") {
    CHECK(!parse_unforked_ranges("1000-"));
    CHECK(!parse_unforked_ranges(" \n"));
    for (const char* text : {"", "\n\n", "VmFlags:", "VmFlags: dc", "Size: 1\nVmFlags: d"}) {
        auto ranges = parse_unforked_ranges(text);
        CHECK(need(ranges).empty());
    }
}

TEST_CASE("what a process keeps from its forks is found, and nothing else of it") {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        auto* memory = static_cast<char*>(::mmap(nullptr, 3 * page_bytes, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        ::madvise(memory + page_bytes, page_bytes, MADV_DONTFORK);
        const GuestAddress middle{reinterpret_cast<std::uint64_t>(memory) + page_bytes};
        if (::write(ready[1], &middle, sizeof middle) == sizeof middle) ::pause();
        ::_exit(1);
    }
    GuestAddress middle;
    REQUIRE(::read(ready[0], &middle, sizeof middle) == sizeof middle);
    auto found = UnforkedMemory::read(child);
    CHECK(std::ranges::count(need(found).ranges,
                             UnforkedRange{{middle, middle + page_bytes}, left_out}) == 1);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (const int fd : ready) ::close(fd);
}

}  // namespace shadowprof::unforked_memory_test
