// Where a guest's mappings find room.
#include "emu/guest/guest_place.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace shadowprof::guest_place_test {
namespace {

using enum SegmentBases;

Mapping mapping(std::uint64_t start, std::uint64_t end, std::string name = {}) {
    Mapping m;
    m.start = {start};
    m.end = {end};
    m.name = std::move(name);
    return m;
}

// A position-independent program, as the worker is one.
MemoryMap own_mappings() {
    return MemoryMap({mapping(0x5555'5555'4000, 0x5555'5600'0000),
                      mapping(0x7ffa'4000'0000, 0x7ffa'4400'0000),
                      mapping(0x7ffc'1000'0000, 0x7ffc'1002'2000, "[stack]")});
}

// Pages at random places in `bytes` from `base` on.
MemoryMap random_mappings(std::mt19937_64& random, std::uint64_t base, std::uint64_t bytes) {
    std::vector<Mapping> mappings;
    for (auto at = base; at < base + bytes;) {
        const auto pages = 1 + random() % 4;
        const auto end = at + pages * page_bytes;
        if (end <= base + bytes) mappings.push_back(mapping(at, end));
        at = end + (1 + random() % 50) * page_bytes;
    }
    return MemoryMap(std::move(mappings));
}

}  // namespace

TEST_CASE("the search ends where there is room at no distance") {
    // A program at a fixed address that reserves 64 TiB, with little room above its stack.
    const MemoryMap guest({mapping(0x40'0000, 0x4c'8000),
                           mapping(0x3ffa'0000'0000, 0x7ffa'0000'0000),
                           mapping(0x7ffe'ffc0'0000, 0x7ffe'ffc2'2000, "[stack]"),
                           mapping(0x7fff'ffff'd000, 0x7fff'ffff'e000, "[vdso]")});
    const auto own = own_mappings();
    CHECK(!GuestPlace(guest, own).fits(0));
    CHECK(!GuestPlace(guest, own).choose(by_instruction));
    CHECK(!GuestPlace(guest, own).choose(by_kernel));
}

TEST_CASE("the only room is found, however narrow") {
    // One page of ours is in the way, and the guest may move by less than half of its pages.
    const std::uint64_t base = 0x7fff'fff0'0000, top = GuestPlace::user_end - 3 * page_bytes;
    const MemoryMap guest({mapping(0x10'000, 0x11'000), mapping(base, base + page_bytes),
                           mapping(top - page_bytes, top)});
    const MemoryMap own({mapping(base, base + page_bytes)});
    CHECK(GuestPlace(guest, own).choose(by_kernel) == 3 * page_bytes);
    const MemoryMap more(
        {mapping(base, base + page_bytes), mapping(base + 3 * page_bytes, base + 4 * page_bytes)});
    CHECK(!GuestPlace(guest, more).choose(by_kernel));
}

TEST_CASE("what is kept free below stacks is kept free") {
    const std::uint64_t top = GuestPlace::user_end - 4096 * page_bytes;
    const MemoryMap guest({mapping(0x10'000, 0x11'000), mapping(top - page_bytes, top, "[stack]")});
    const MemoryMap own({mapping(top - page_bytes, top)});
    CHECK(!GuestPlace(guest, own).fits(GuestPlace::stack_growth_bytes));
    CHECK(GuestPlace(guest, own).fits(GuestPlace::stack_growth_bytes + page_bytes));
    CHECK(GuestPlace(guest, own).choose(by_kernel) == 4096 * page_bytes);
    const MemoryMap stack(
        {mapping(GuestPlace::user_end - page_bytes, GuestPlace::user_end, "[stack]"),
         mapping(0x10'000, 0x11'000)});
    const auto below = GuestPlace(guest, stack).choose(by_kernel);
    REQUIRE(below);
    CHECK(*below == 4095 * page_bytes - GuestPlace::stack_growth_bytes);
}

TEST_CASE("where there is more room, ours is far behind the guest's mappings") {
    // A program at a low address, as below what a sanitizer reserves.
    const MemoryMap guest(
        {mapping(0x1234'0000, 0x1237'0000), mapping(0x7ffd'0000'0000, 0x7ffd'0000'1000)});
    const auto choose = [&](std::uint64_t stack) {
        const MemoryMap own(
            {mapping(0x7fff'7000, 0x1000'7fff'8000), mapping(stack, stack + 0x2'1000, "[stack]")});
        const auto delta = GuestPlace(guest, own).choose(by_instruction);
        REQUIRE(delta);
        CHECK(GuestPlace(guest, own).fits(*delta));
        return *delta;
    };
    constexpr std::uint64_t room = 0x7fff'7000 - 0x1237'0000, gibibyte = 1 << 30;
    CHECK(choose(0x7ffc'0000'0000) == room - gibibyte);
    CHECK(choose(0x7ffd'00d3'f000) == room - gibibyte / 8);
}

TEST_CASE("the farthest room upwards is that of a search page by page") {
    constexpr std::uint64_t room_pages = 700;
    std::mt19937_64 random(5);
    unsigned found = 0;
    for (int i = 0; i < 200; ++i) {
        const auto base = GuestPlace::user_end - 2 * room_pages * page_bytes;
        const auto guest = random_mappings(random, base, room_pages * page_bytes);
        const auto own = random_mappings(random, base, 2 * room_pages * page_bytes);
        const GuestPlace place(guest, own);
        std::optional<std::uint64_t> expected;
        const auto highest = guest.mappings().back().end.value;
        for (auto up = GuestPlace::user_end - highest; up >= page_bytes && !expected;
             up -= page_bytes)
            if (place.fits(up)) expected = up;
        if (!expected && place.fits(0)) expected = 0;
        CHECK(place.choose(by_kernel) == (place.fits(0) ? 0 : expected));
        found += expected.has_value();
    }
    CHECK(found > 20);
    CHECK(found < 180);
}

TEST_CASE("many mappings are no obstacle") {
    std::vector<Mapping> guest = {mapping(0x40'0000, 0x4c'8000)}, own;
    for (std::uint64_t i = 0; i < 60'000; ++i) {
        const auto at = 0x7000'0000'0000 + 3 * i * page_bytes;
        guest.push_back(mapping(at, at + page_bytes));
    }
    guest.push_back(mapping(0x1000'0000'0000, 0x6000'0000'0000));
    for (std::uint64_t i = 0; i < 100; ++i) {
        const auto at = 0x7001'0000'0000 + 1000 * i * page_bytes;
        own.push_back(mapping(at, at + 2 * page_bytes));
    }
    const MemoryMap of_guest(std::move(guest)), ours(std::move(own));
    const GuestPlace place(of_guest, ours);
    const auto delta = place.choose(by_kernel);
    CHECK((!delta || place.fits(*delta)));
}

}  // namespace shadowprof::guest_place_test
