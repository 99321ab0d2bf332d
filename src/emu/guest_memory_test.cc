// Guest memory that is kept from one interval to the next.
#include "emu/guest_memory.h"

#include <doctest/doctest.h>

#include <set>

namespace shadowprof::guest_memory_test {
namespace {

constexpr GuestAddress base{0x5000'0000'0000};

// Every byte of a page is the page's version.
class VersionedPages final : public PageSource {
  public:
    bool read_pages(GuestAddress from, std::span<std::byte> to) override {
        for (std::size_t i = 0; i < to.size(); ++i)
            to[i] = static_cast<std::byte>(version[(from + i - base) / page_bytes % 64]);
        return true;
    }
    std::array<std::uint8_t, 64> version{};
};

Mapping mapping(std::uint64_t first_page, std::uint64_t pages, bool writable) {
    Mapping m;
    m.start = base + first_page * page_bytes;
    m.end = m.start + pages * page_bytes;
    m.readable = true;
    m.writable = writable;
    return m;
}

GuestAddress page(std::uint64_t number) {
    return base + number * page_bytes;
}

std::set<GuestAddress> dirty(const GuestMemory& memory) {
    std::set<GuestAddress> pages;
    memory.for_each_dirty_page(
        [&](GuestAddress at, std::span<const std::byte>) { pages.insert(at); });
    return pages;
}

std::uint8_t first_byte(GuestMemory& memory, GuestAddress at) {
    std::byte byte{};
    REQUIRE(memory.read(at, {&byte, 1}));
    return static_cast<std::uint8_t>(byte);
}

void write(GuestMemory& memory, GuestAddress at) {
    const std::byte byte{99};
    REQUIRE(memory.write(at, {&byte, 1}));
}

struct Tracked {
    VersionedPages source;
    GuestMemory memory;

    Tracked() { REQUIRE(memory.begin(MemoryMap({mapping(0, 32, true)}), source, true)); }
};

TEST_CASE("a page is dirty from its first write on, not because it could be written to") {
    Tracked t;
    CHECK(first_byte(t.memory, page(1)) == 0);
    CHECK(dirty(t.memory).empty());
    write(t.memory, page(2));
    CHECK(dirty(t.memory) == std::set{page(2)});
    CHECK(t.memory.on_fault(page(3), true) == GuestMemory::Fault::resolved);
    CHECK(dirty(t.memory) == std::set{page(2), page(3)});
}

TEST_CASE("pages stay over intervals, and are clean again after a while") {
    Tracked t;
    write(t.memory, page(2));
    t.source.version[2] = 7;
    for (int i = 0; i < 200; ++i) {
        t.memory.compared();
        t.memory.next_interval();
    }
    CHECK(dirty(t.memory).empty());
    CHECK(first_byte(t.memory, page(2)) == 99);
    write(t.memory, page(2));
    CHECK(dirty(t.memory) == std::set{page(2)});
}

TEST_CASE("what the source says has changed is read anew, whatever its size") {
    for (const std::uint64_t pages : {1u, 32u}) {
        Tracked t;
        write(t.memory, page(0));
        CHECK(first_byte(t.memory, page(20)) == 0);
        t.source.version.fill(5);
        t.memory.refresh(std::vector{MemoryRange{page(0) + 100, page(pages)}});
        CHECK(first_byte(t.memory, page(0)) == 5);
        CHECK(first_byte(t.memory, page(20)) == (pages > 20 ? 5 : 0));
        t.memory.refresh_writable();
        CHECK(first_byte(t.memory, page(20)) == 5);
    }
}

TEST_CASE("pages that were not compared stay dirty") {
    Tracked t;
    write(t.memory, page(2));
    for (int i = 0; i < 200; ++i) t.memory.next_interval();
    CHECK(dirty(t.memory) == std::set{page(2)});
}

TEST_CASE("what is read anew in part is compared in the other part, once") {
    for (const std::uint64_t pages : {1u, 100u}) {
        VersionedPages source;
        GuestMemory memory;
        REQUIRE(memory.begin(MemoryMap({mapping(0, 128, true)}), source, true));
        for (const auto offset : {7u, 40u, 200u}) write(memory, page(0) + offset);
        const std::vector<MemoryRange> changed = {
            {page(0) + 100, page(0) + 100 + pages * page_bytes}, {page(0) + 40, page(0) + 41}};
        memory.refresh(changed);
        REQUIRE(memory.replaced_differences().size() == 1);
        CHECK(memory.replaced_differences()[0].address == page(0) + 7);
        CHECK(memory.replaced_differences()[0].emulated == 99);
        CHECK(memory.replaced_differences()[0].native == 0);
        memory.refresh(changed);
        CHECK(memory.replaced_differences().size() == 1);
        memory.compared();
        CHECK(memory.replaced_differences().size() == 1);
        memory.next_interval();
        CHECK(memory.replaced_differences().empty());
    }
}

TEST_CASE("a page that was only read is read anew without a comparison") {
    Tracked t;
    CHECK(first_byte(t.memory, page(0)) == 0);
    t.source.version.fill(5);
    t.memory.refresh(std::vector{MemoryRange{page(0) + 100, page(0) + 200}});
    CHECK(t.memory.replaced_differences().empty());
}

TEST_CASE("a changed layout drops the pages that are shown differently, and keeps the others") {
    Tracked t;
    for (const auto number : {1u, 10u, 20u, 25u}) write(t.memory, page(number));
    t.source.version.fill(3);
    REQUIRE(t.memory.change_layout(
        MemoryMap({mapping(0, 8, true), mapping(8, 8, false), mapping(24, 8, true)})));
    CHECK(first_byte(t.memory, page(1)) == 99);
    CHECK(first_byte(t.memory, page(10)) == 3);
    CHECK(t.memory.on_fault(page(10), true) == GuestMemory::Fault::guest);
    CHECK(t.memory.readable_bytes(page(20)).empty());
    CHECK(first_byte(t.memory, page(25)) == 99);
}

}  // namespace
}  // namespace shadowprof::guest_memory_test
