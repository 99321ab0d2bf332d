// Guest memory that stays in place from one sample to the next.
#include <doctest/doctest.h>

#include <csetjmp>
#include <csignal>
#include <map>

#include "emu/guest/guest_memory.h"

namespace shadowprof::guest_memory_kept_test {
namespace {

constexpr GuestAddress first_page{0x5000'0000'0000};

GuestAddress page(std::uint64_t number) {
    return first_page + number * page_bytes;
}

// Every byte is the source's version, except in pages that have a version of their own. Pages 1, 6,
// 9 and 14 are on trial in the sample after the one that first touches them.
class NumberedPages final : public PageSource {
  public:
    bool read_pages(GuestAddress from, std::span<std::byte> to) override {
        ++reads;
        for (std::size_t i = 0; i < to.size(); ++i) {
            const auto at = (from + i).page();
            if (unreadable == at) return false;
            to[i] = static_cast<std::byte>(version);
        }
        return !over;
    }
    bool is_over() const override { return over; }

    std::uint8_t version = 1;
    GuestAddress unreadable;
    bool over = false;
    std::uint64_t reads = 0;
};

Mapping data(std::uint64_t first, std::uint64_t pages, bool writable = true) {
    Mapping m;
    m.start = page(first);
    m.end = page(first + pages);
    m.readable = true;
    m.writable = writable;
    return m;
}

Mapping file_code(std::uint64_t first, std::uint64_t pages, std::uint64_t inode = 7) {
    Mapping m = data(first, pages, false);
    m.executable = true;
    m.inode = inode;
    m.name = "/code";
    return m;
}

// A memory that is used for one sample after another.
struct Samples {
    NumberedPages source;
    std::vector<GuestAddress> changed;
    GuestMemory memory{[this](GuestAddress start, GuestAddress) { changed.push_back(start); }};

    void begin(std::vector<Mapping> mappings, bool runs = true) {
        REQUIRE(memory.begin(MemoryMap(std::move(mappings)), source, PageUse::again));
        if (runs) memory.read_ahead();
    }
    void next(std::vector<Mapping> mappings, bool runs = true) {
        memory.end_sample();
        ++source.version;
        begin(std::move(mappings), runs);
    }
    // Touches a page as the guest would, and returns its first byte.
    unsigned touch(std::uint64_t number) {
        REQUIRE(!memory.readable_bytes(page(number)).empty());
        return std::to_integer<unsigned>(*memory.host(page(number)));
    }
    std::uint64_t placed() const { return memory.counters().pages_fetched; }
    std::uint64_t reread() const { return memory.counters().pages_reread; }
};

sigjmp_buf back;

// Whether our own code faults at this byte.
bool faults_at(const std::byte* byte) {
    struct sigaction old, action = {};
    action.sa_handler = [](int) { siglongjmp(back, 1); };
    sigaction(SIGSEGV, &action, &old);
    const bool faulted = sigsetjmp(back, 1) != 0;
    if (!faulted) static_cast<void>(*static_cast<const volatile std::byte*>(byte));
    sigaction(SIGSEGV, &old, nullptr);
    return faulted;
}

TEST_CASE("a page that was touched is there in the next sample, as the program has it then") {
    for (const bool writable : {true, false}) {
        Samples s;
        const std::vector mappings{data(0, 64, writable)};
        s.begin(mappings);
        CHECK(s.touch(5) == 1);
        const auto placed = s.placed();
        s.next(mappings);
        CHECK(s.reread() == 1);
        CHECK(std::to_integer<unsigned>(*s.memory.host(page(5))) == 2);
        CHECK(s.memory.on_fault(page(5), true) == GuestMemory::Fault::guest);  // it is not a first
                                                                               // touch
        CHECK(s.placed() == placed);
    }
}

TEST_CASE("what came along with a page and was not touched is out of reach until it is read") {
    Samples s;
    s.begin({data(0, 64)});
    CHECK(s.touch(5) == 1);
    CHECK(s.touch(9) == 1);  // the second touch of 16 pages brings a neighbour
    CHECK(!faults_at(s.memory.host(page(8))));
    s.next({data(0, 64)});
    CHECK(faults_at(s.memory.host(page(8))));
    const auto placed = s.placed();
    CHECK(s.touch(8) == 2);
    CHECK(s.placed() == placed);
    s.next({data(0, 64)});
    CHECK(!faults_at(s.memory.host(page(8))));
    CHECK(std::to_integer<unsigned>(*s.memory.host(page(8))) == 3);
}

TEST_CASE("each first touch in 16 pages brings twice as many of them as the last one") {
    Samples s;
    s.begin({data(0, 64)});
    std::uint64_t placed = 0;
    struct Touch {
        std::uint64_t page, pages;
    };
    for (const auto& [number, pages] : {Touch{0, 1}, {2, 2}, {4, 4}, {8, 8}, {1, 1}}) {
        s.touch(number);
        CHECK(s.placed() - placed == pages);
        placed = s.placed();
    }
    s.touch(16);  // in the next 16 pages
    CHECK(s.placed() - placed == 1);
}

TEST_CASE("what is touched when nothing is learnt any more is in place, and not read ahead") {
    Samples s;
    s.begin({data(0, 64)});
    s.touch(5);
    s.memory.stop_learning();
    s.touch(37);
    s.next({data(0, 64)});
    CHECK(s.reread() == 1);
    CHECK(!faults_at(s.memory.host(page(5))));
    CHECK(faults_at(s.memory.host(page(37))));
    const auto placed = s.placed();
    s.touch(37);  // is learnt again
    CHECK(s.placed() == placed);
    s.next({data(0, 64)});
    CHECK(!faults_at(s.memory.host(page(37))));
}

TEST_CASE("what a sample writes is gone in the next one") {
    Samples s;
    s.begin({data(0, 8)});
    const std::byte mine{99};
    REQUIRE(s.memory.write(page(2), {&mine, 1}));
    s.next({data(0, 8)});
    CHECK(s.touch(2) == 2);
    s.memory.for_each_dirty_page([&](GuestAddress at, auto) { CHECK(at == page(2)); });
}

TEST_CASE("a page that nobody touches any more is not read for ever") {
    Samples s;
    s.begin({data(0, 64)});
    s.touch(5);
    for (int i = 0; i < 9; ++i) s.next({data(0, 64)});
    const auto reread = s.reread();
    s.next({data(0, 64)});
    CHECK(s.reread() == reread);
    CHECK(s.touch(5) == s.source.version);
}

TEST_CASE("where hardly any page is touched again, only those are read ahead that are") {
    Samples s;
    const std::vector mappings{data(0, 100'000)};
    s.begin(mappings);
    std::uint64_t fresh = 16;
    const auto touch_fresh = [&] {
        for (int i = 0; i < 40; ++i) s.touch(fresh += 16);
    };
    for (int i = 0; i < 8; ++i) {
        touch_fresh();
        s.next(mappings);
    }
    for (int i = 0; i < 12; ++i) s.next(mappings);  // pages of the first runs have had their turns
    auto reread = s.reread();
    touch_fresh();
    s.touch(5);
    s.next(mappings);
    CHECK(s.reread() == reread);
    CHECK(s.touch(5) == s.source.version);
    reread = s.reread();
    s.next(mappings);
    CHECK(s.reread() == reread + 1);
    CHECK(std::to_integer<unsigned>(*s.memory.host(page(5))) == s.source.version);
}

TEST_CASE("a repeated run does not change what is read ahead") {
    Samples s;
    s.begin({data(0, 64)});
    CHECK(s.touch(5) == 1);
    for (int i = 0; i < 40; ++i) {
        s.memory.end_sample();
        REQUIRE(s.memory.begin(MemoryMap({data(0, 64)}), s.source, PageUse::again));
        s.memory.read_ahead(GuestMemory::Run::repeated);
        CHECK(std::to_integer<unsigned>(*s.memory.host(page(5))) == 1);
        CHECK(s.touch(20) == 1);
    }
    const auto reread = s.reread();
    s.next({data(0, 64)});
    CHECK(s.reread() == reread + 1);
    CHECK(std::to_integer<unsigned>(*s.memory.host(page(5))) == 2);
}

TEST_CASE("code is translated ahead, between two samples, without a look at data") {
    Samples s;
    s.begin({data(0, 8), file_code(16, 4)});
    s.touch(3);
    s.touch(16);
    const auto reread = s.reread();
    s.next({data(0, 8), file_code(16, 4)}, false);
    CHECK(s.reread() == reread);
    CHECK(s.touch(16) == 1);
    CHECK(s.memory.executable_bytes(page(16)).size() == page_bytes);
    s.next({data(0, 8), file_code(16, 4)});
    CHECK(s.reread() == reread + 1);
    CHECK(s.touch(3) == 3);
}

TEST_CASE("code of files is not read again, unless the mapping is another one") {
    Samples s;
    s.begin({file_code(0, 4)});
    CHECK(s.touch(0) == 1);
    s.next({file_code(0, 4), data(8, 4)});
    CHECK(s.touch(0) == 1);
    s.next({file_code(0, 4, 8), data(8, 4)});
    CHECK(s.touch(0) == 3);
    Mapping writable = file_code(0, 4, 8);
    writable.writable = true;
    s.next({writable});
    CHECK(s.touch(0) == 4);
}

TEST_CASE("of other mappings nothing stays") {
    Samples s;
    s.begin({data(0, 16), data(32, 16)});
    s.touch(2);
    s.touch(33);
    s.next({data(0, 16), data(32, 16, false)});
    CHECK(s.reread() == 1);
    s.next({data(0, 1)});
    CHECK(s.memory.on_fault(page(2), false) == GuestMemory::Fault::guest);
    CHECK(faults_at(s.memory.host(page(2))));
}

TEST_CASE("what a sample maps is not there in the next one") {
    Samples s;
    s.begin({data(0, 4)});
    REQUIRE(s.memory.map(data(8, 4)));
    CHECK(s.touch(8) == 0);
    REQUIRE(s.memory.unmap(page(0), page_bytes));
    s.next({data(0, 4)});
    CHECK(s.memory.on_fault(page(8), false) == GuestMemory::Fault::guest);
    CHECK(s.touch(0) == 2);
    REQUIRE(s.memory.protect(page(1), page_bytes, {.readable = true}));
    CHECK(s.memory.on_fault(page(1), true) == GuestMemory::Fault::guest);
    s.next({data(0, 4)});
    const std::byte mine{99};
    CHECK(s.memory.write(page(1), {&mine, 1}));
}

TEST_CASE("a hot page that cannot be read is not there") {
    Samples s;
    s.begin({data(0, 4)});
    s.touch(1);
    s.source.unreadable = page(1);
    s.next({data(0, 4)});
    CHECK(faults_at(s.memory.host(page(1))));
    CHECK(s.memory.readable_bytes(page(1)).empty());
    s.source.unreadable = {};
    CHECK(s.touch(1) == 2);
}

TEST_CASE("nothing is read when the time is over, and all is there the next time") {
    Samples s;
    s.begin({data(0, 64)});
    s.touch(1);
    s.touch(33);
    s.source.over = true;
    const auto reads = s.source.reads;
    s.next({data(0, 64)});
    CHECK(s.source.reads == reads);
    s.source.over = false;
    s.next({data(0, 64)});
    CHECK(s.touch(1) == 3);
    CHECK(s.touch(33) == 3);
}

TEST_CASE("a page whose time was over while it was read is out of reach in the next sample") {
    for (const bool was_hot : {false, true}) {
        Samples s;
        s.begin({data(0, 64)});
        s.touch(was_hot ? 7 : 5);
        if (!was_hot) s.touch(8);  // brings page 7
        s.next({data(0, 64)});
        s.source.over = true;
        CHECK(s.memory.readable_bytes(page(7)).empty() == !was_hot);
        s.source.over = false;
        s.next({data(0, 64)}, false);
        CHECK(s.touch(7) == 3);
    }
}

TEST_CASE(
    "code in memory that can be written to is placed anew, and watched when it is translated") {
    Samples s;
    Mapping code = data(0, 4);
    code.executable = true;
    s.begin({code});
    s.touch(0);
    s.memory.watch_code_page(page(0));
    CHECK(s.memory.on_fault(page(0), true) == GuestMemory::Fault::code_write);
    s.next({code});
    CHECK(s.touch(0) == 2);
    CHECK(s.memory.on_fault(page(0), true) == GuestMemory::Fault::guest);
    const std::byte mine{99};
    CHECK(s.memory.write(page(0), {&mine, 1}));
}

TEST_CASE("so many pages stay and no more") {
    Samples s;
    s.begin({data(0, 10'000)});
    for (std::uint64_t i = 0; i < 10'000; ++i) s.touch(i);
    s.next({data(0, 10'000)});
    CHECK(s.reread() > 0);
    CHECK(s.reread() <= 256);
    const auto placed = s.placed();
    for (std::uint64_t i = 0; i < 10'000; ++i) CHECK(s.touch(i) == 2);
    CHECK(s.placed() > placed + 7'000);
}

TEST_CASE("a sample with another use of its pages has none of the last one's") {
    Samples s;
    s.begin({data(0, 4)});
    s.touch(1);
    s.memory.end_sample();
    s.source.version = 9;
    REQUIRE(s.memory.begin(MemoryMap({data(0, 4)}), s.source));
    CHECK(s.reread() == 0);
    CHECK(s.touch(1) == 9);
    s.memory.end_sample();
    s.begin({data(0, 4)});
    CHECK(s.reread() == 0);
}

}  // namespace
}  // namespace shadowprof::guest_memory_kept_test
