#include "shadow/latency/pointer_chase.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "emu/worker/worker_protocol.h"

namespace shadowprof::pointer_chase_test {
namespace {

// Returns the lines that the pointers visit, from the first until one comes again.
std::set<std::uint64_t> visited(const ChaseMemory& memory) {
    std::set<std::uint64_t> lines;
    GuestAddress at = memory.first();
    while (lines.insert(at.value).second) {
        REQUIRE(memory.contains(at));
        const GuestAddress pointer{*reinterpret_cast<const std::uint64_t*>(at.value)};
        CHECK(memory.next(at) == pointer);
        at = pointer;
    }
    CHECK(at == memory.first());
    return lines;
}

}  // namespace

TEST_CASE("a chase visits all lines once, whatever their number") {
    for (std::uint64_t bytes = page_bytes; bytes <= 64 * page_bytes; bytes *= 2) {
        const auto memory = ChaseMemory::create(bytes, PageKind::small);
        REQUIRE(memory);
        CHECK(visited(*memory).size() == bytes / line_bytes);
    }
}

TEST_CASE("a sparse chase visits one line of each page, at all places of a page") {
    const auto memory =
        ChaseMemory::create(256 * page_bytes, PageKind::small, ChaseLines::one_a_page);
    REQUIRE(memory);
    std::set<std::uint64_t> pages, places;
    for (const auto line : visited(*memory)) {
        pages.insert(line / page_bytes);
        places.insert(line % page_bytes);
    }
    CHECK(pages.size() == 256);
    CHECK(places.size() == page_bytes / line_bytes);
}

TEST_CASE("the steps of a chase have no length that comes again and again") {
    const auto memory = ChaseMemory::create(1 << 20, PageKind::small);
    REQUIRE(memory);
    std::map<std::uint64_t, int> lengths;
    GuestAddress at = memory->first();
    for (std::uint64_t i = 0; i < memory->lines(); ++i) {
        const auto next = memory->next(at);
        ++lengths[next.value - at.value];
        at = next;
    }
    for (const auto& [length, times] : lengths) CHECK(times < 100);  // of 16384
}

}  // namespace shadowprof::pointer_chase_test
