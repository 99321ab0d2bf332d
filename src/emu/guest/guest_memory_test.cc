// Guest memory that is kept from one interval to the next.
#include "emu/guest/guest_memory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

namespace shadowprof::guest_memory_test {
namespace {

constexpr GuestAddress base{0x5000'0000'0000};

// Every byte of a page equals the page's version.
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

    Tracked() {
        REQUIRE(memory.begin(MemoryMap({mapping(0, 32, true)}), source, PageUse::tracked));
    }
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

TEST_CASE("the more pages of a chunk were written to, the more become dirty at once") {
    VersionedPages source;
    GuestMemory memory;
    // Pages 14 and 15 may not be written to.
    REQUIRE(memory.begin(
        MemoryMap({mapping(0, 14, true), mapping(14, 2, false), mapping(16, 32, true)}), source,
        PageUse::tracked));
    const auto fill = [&](std::uint64_t first, std::uint64_t end) {
        int faults = 0;
        for (auto number = first; number < end; ++number) {
            const auto at = page(number);
            if (dirty(memory).contains(at)) continue;
            CHECK(memory.on_fault(at, true) == GuestMemory::Fault::resolved);
            ++faults;
        }
        return faults;
    };
    CHECK(fill(0, 14) == 5);
    CHECK(dirty(memory).size() == 14);
    CHECK(memory.on_fault(page(14), true) == GuestMemory::Fault::guest);
    CHECK(fill(16, 32) == 5);
    // Behind a chunk that is dirty as a whole, the next one becomes so at its first write.
    CHECK(fill(32, 48) == 1);
    CHECK(dirty(memory).size() == 14 + 32);
    CHECK(memory.counters().pages_fetched == 14 + 32);
    for (const std::uint64_t number : {0u, 13u, 14u, 47u})
        CHECK(first_byte(memory, page(number)) == 0);
}

TEST_CASE("a page with code does not become writable with the pages around it") {
    Tracked t;
    CHECK(first_byte(t.memory, page(3)) == 0);
    t.memory.watch_code_page(page(3));
    for (const std::uint64_t number : {0u, 1u, 2u})
        CHECK(t.memory.on_fault(page(number), true) == GuestMemory::Fault::resolved);
    CHECK(dirty(t.memory) == std::set{page(0), page(1), page(2)});
    CHECK(t.memory.on_fault(page(3), true) == GuestMemory::Fault::code_write);
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
        REQUIRE(memory.begin(MemoryMap({mapping(0, 128, true)}), source, PageUse::tracked));
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
    // Addresses that no program has are accepted too.
    constexpr GuestAddress last_byte{~std::uint64_t{0}};
    t.memory.refresh(std::vector{MemoryRange{last_byte.page(), last_byte}});
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

constexpr std::uint64_t user_end = 0x7fff'ffff'f000;

MemoryMap own_map() {
    std::ifstream in("/proc/self/maps");
    auto map = MemoryMap::parse(std::string{std::istreambuf_iterator<char>(in), {}});
    REQUIRE(map);
    return std::move(*map);
}

TEST_CASE("no address that a guest has reaches what is the emulator's own") {
    const auto own = own_map();
    // A sanitizer reserves memory everywhere.
    if (own.mappings().front().start.value < 0x5000'0000'0000) return;
    // Without FSGSBASE, guests cannot lie below this process.
    if (host_segment_bases() == SegmentBases::by_kernel) return;
    Tracked t;
    for (const auto& m : own.mappings()) {
        if (m.start.value > user_end) continue;
        CAPTURE(m.start.value);
        CHECK(m.start.value - t.memory.delta() >= user_end);
        CHECK(m.end.value - t.memory.delta() > user_end);
    }
}

Mapping low_mapping(std::uint64_t start) {
    Mapping m = mapping(0, 4, true);
    m.start = {start};
    m.end = m.start + 4 * page_bytes;
    return m;
}

// Such a mapping does not fit at the present delta, so all pages move.
TEST_CASE("memory that a guest maps below all other is there, and the other stays what it was") {
    for (const std::uint64_t start : {0x10'0000u, 0x4000'0000u}) {
        Tracked t;
        write(t.memory, page(1) + 5);
        write(t.memory, page(31));
        t.source.version.fill(7);
        CHECK(first_byte(t.memory, page(20)) == 7);
        REQUIRE(t.memory.map(low_mapping(start)));
        write(t.memory, {start});
        CHECK(first_byte(t.memory, {start}) == 99);
        CHECK(first_byte(t.memory, page(1) + 5) == 99);
        CHECK(first_byte(t.memory, page(31)) == 99);
        CHECK(dirty(t.memory) == std::set{GuestAddress{start}, page(1), page(31)});
        t.source.version.fill(8);
        CHECK(first_byte(t.memory, page(20)) == 7);
        CHECK(*t.memory.host(page(1) + 5) == std::byte{99});
    }
}

TEST_CASE("memory that a program maps below all other between two intervals is there") {
    Tracked t;
    write(t.memory, page(1) + 5);
    REQUIRE(t.memory.change_layout(MemoryMap({mapping(0, 32, true), low_mapping(0x4000'0000)})));
    t.source.version.fill(3);
    CHECK(first_byte(t.memory, {0x4000'0000}) == 3);
    CHECK(first_byte(t.memory, page(1) + 5) == 99);
    // Moves up again.
    REQUIRE(t.memory.change_layout(MemoryMap({mapping(0, 32, true)})));
    CHECK(first_byte(t.memory, page(1) + 5) == 99);
}

Mapping shared_mapping(std::uint64_t first_page, std::uint64_t offset_pages, bool writable) {
    Mapping m = mapping(first_page, 4 - offset_pages, writable);
    m.shared = true;
    m.executable = !writable;
    m.inode = 7;
    m.file_offset = offset_pages * page_bytes;
    return m;
}

TEST_CASE("what is written to a file that is mapped twice is there at both places, as code too") {
    for (const auto use : {PageUse::once, PageUse::tracked, PageUse::again}) {
        std::vector<GuestAddress> changed;
        VersionedPages source;
        GuestMemory memory(
            [&](GuestAddress start, GuestAddress) { changed.push_back(start.page()); });
        REQUIRE(memory.begin(MemoryMap({shared_mapping(0, 0, true), shared_mapping(10, 1, true),
                                        shared_mapping(20, 2, false), mapping(30, 4, true)}),
                             source, use));
        CHECK(first_byte(memory, page(0)) == 0);
        CHECK(first_byte(memory, page(1)) == 0);
        CHECK(first_byte(memory, page(10)) == 0);
        write(memory, page(10));
        CHECK(first_byte(memory, page(1)) == 99);
        CHECK(first_byte(memory, page(0)) == 0);
        write(memory, page(3));
        CHECK(first_byte(memory, page(12)) == 99);
        CHECK(first_byte(memory, page(21)) == 99);
        // Page 2 shows the code of page 20. It is not in place yet: its watch begins when it is
        // fetched.
        memory.watch_code_page(page(20));
        CHECK(first_byte(memory, page(2)) == 0);
        CHECK(memory.on_fault(page(2), true) == GuestMemory::Fault::code_write);
        changed.clear();
        memory.allow_code_write(page(2));
        CHECK(std::ranges::count(changed, page(20)) == 1);
        CHECK(memory.on_fault(page(2), true) != GuestMemory::Fault::code_write);
    }
}

TEST_CASE("a stack grows to its limit and not nearer to what lies below it") {
    VersionedPages source;
    GuestMemory memory;
    Mapping stack = mapping(60, 2, true);
    stack.name = "[stack]";
    memory.set_stack_limit(10 * page_bytes);
    REQUIRE(memory.begin(MemoryMap({stack}), source));
    CHECK(memory.on_fault(page(52), true) == GuestMemory::Fault::resolved);
    CHECK(memory.on_fault(page(51) + 100, true) == GuestMemory::Fault::guest);
    memory.set_stack_limit(1000 * page_bytes);
    REQUIRE(memory.begin(MemoryMap({mapping(0, 1, false), stack}), source));
    CHECK(memory.on_fault(page(59), true) == GuestMemory::Fault::guest);
}

TEST_CASE("what may not be executed has no code, and loses it with the right") {
    std::vector<GuestAddress> changed;
    VersionedPages source;
    GuestMemory memory([&](GuestAddress start, GuestAddress) { changed.push_back(start); });
    Mapping code = mapping(0, 2, false);
    code.executable = true;
    REQUIRE(memory.begin(MemoryMap({code, mapping(4, 1, true)}), source));
    CHECK(memory.executable_bytes(page(0)).size() == page_bytes);
    CHECK(memory.executable_bytes(page(4)).empty());
    changed.clear();
    REQUIRE(memory.protect(page(0), page_bytes, {.readable = true}));
    CHECK(changed == std::vector{page(0)});
    CHECK(memory.executable_bytes(page(0)).empty());
    CHECK(memory.executable_bytes(page(1)).size() == page_bytes);
}

TEST_CASE("memory of a file that the source does not have is behind the file's end") {
    class NoPages final : public PageSource {
        bool read_pages(GuestAddress, std::span<std::byte>) override { return false; }
    } source;
    GuestMemory memory;
    Mapping file = mapping(0, 2, false);
    file.inode = 7;
    REQUIRE(memory.begin(MemoryMap({file, mapping(4, 2, false)}), source));
    CHECK(memory.on_fault(page(1), false) == GuestMemory::Fault::unreadable);
    CHECK(memory.on_fault(page(4), false) == GuestMemory::Fault::guest);
}

}  // namespace
}  // namespace shadowprof::guest_memory_test
