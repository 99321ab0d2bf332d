#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <random>
#include <set>

#include "base/memory_map.h"
#include "guest_kernel/environment/environment_proc_text.h"
#include "guest_kernel/test_support.h"

namespace shadowprof::guest_memory_test {
namespace {

constexpr std::uint64_t private_anonymous = MAP_PRIVATE | MAP_ANONYMOUS;

struct Guest {
    std::uint64_t map(std::uint64_t size, std::uint64_t protection = PROT_READ | PROT_WRITE,
                      std::uint64_t flags = private_anonymous, std::uint64_t hint = 0) {
        return static_cast<std::uint64_t>(
            guest.call(SYS_mmap, hint, size, protection, flags, ~0ull, 0));
    }
    FakeEnvironment outside;
    FakeGuest guest{outside};
};

// Makes the same calls to the kernel, in a part of this process's address space that nothing else
// uses, as the reference for the emulation's answers and effects.
class Arena {
  public:
    static constexpr std::uint64_t start = 0x2000'0000'0000, pages = 24;
    static constexpr std::uint64_t end = start + pages * page_bytes;

    ~Arena() { ::munmap(reinterpret_cast<void*>(start), pages * page_bytes); }

    static std::int64_t call(long number, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                             std::uint64_t d, std::uint64_t e, std::uint64_t f) {
        long result = ::syscall(number, a, b, c, d, e, f);
        return result == -1 ? -errno : result;
    }
};

bool is_same_page(const MemoryMap& real, FakeSpace& space, std::uint64_t address) {
    const Mapping* theirs = real.find({address});
    const Mapping* ours = space.find({address});
    if (!theirs || !ours) return !theirs && !ours;
    if (theirs->readable != ours->readable || theirs->writable != ours->writable ||
        theirs->executable != ours->executable)
        return false;
    std::uint64_t word = 0;
    if (!theirs->readable) return true;
    std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
    return read_value<std::uint64_t>(space, {address}) == word;
}

struct RandomCall {
    long number;
    std::uint64_t args[5];
};

RandomCall random_call(std::mt19937& random) {
    auto page = [&] { return Arena::start + random() % Arena::pages * page_bytes; };
    std::uint64_t at = page(), to = page();
    std::uint64_t size = (1 + random() % 6) * page_bytes - random() % 2;
    std::uint64_t new_size = (1 + random() % 6) * page_bytes;
    at = std::min(at, Arena::end - 6 * page_bytes);
    to = std::min(to, Arena::end - 6 * page_bytes);
    constexpr std::uint64_t protections[] = {PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE,
                                             PROT_READ};
    std::uint64_t protection = protections[random() % 3];
    std::uint64_t misaligned = random() % 16 == 0;
    switch (random() % 6) {
        case 0:
        case 1: {
            std::uint64_t fixed = random() % 4 ? MAP_FIXED : MAP_FIXED_NOREPLACE;
            return {SYS_mmap,
                    {at + misaligned, size, protection, private_anonymous | fixed, ~0ull}};
        }
        case 2:
            return {SYS_munmap, {at + misaligned, size}};
        case 3:
            return {SYS_mprotect, {at + misaligned, size, protection}};
        case 4:
            return {SYS_madvise, {at + misaligned, size, MADV_DONTNEED}};
        default:
            return {SYS_mremap, {at, size, new_size, MREMAP_MAYMOVE | MREMAP_FIXED, to}};
    }
}

// Marks every writable page, in the kernel's and the emulated memory.
void write_marks(const MemoryMap& real, FakeSpace& space, std::uint64_t mark) {
    for (std::uint64_t at = Arena::start; at < Arena::end; at += page_bytes) {
        const Mapping* mapping = real.find({at});
        if (!mapping || !mapping->writable) continue;
        std::memcpy(reinterpret_cast<void*>(at), &mark, sizeof mark);
        guest_store(space, {at}, mark);
    }
}

// Kernels differ in whether mremap may span mappings that could not be merged.
bool spans_mappings(const MemoryMap& real, std::uint64_t start, std::uint64_t size) {
    const Mapping* mapping = real.find({start});
    return !mapping || mapping->end.value < start + size;
}

MemoryMap maps_of_this_process() {
    auto text = read_proc_file("/proc/self/maps");
    REQUIRE(text);
    // Only the arena's mappings, as there may be any number of others.
    std::vector<Mapping> mappings;
    auto map = MemoryMap::parse(*text);
    REQUIRE(map);
    for (const Mapping& mapping : map->mappings())
        if (Arena::start <= mapping.start.value && mapping.start.value < Arena::end)
            mappings.push_back(mapping);
    return MemoryMap(std::move(mappings));
}

}  // namespace

TEST_CASE("memory that must have addresses of 32 bits has them") {
    Guest g;
    constexpr auto flags = private_anonymous | MAP_32BIT;
    const auto read_write = PROT_READ | PROT_WRITE;
    const auto first = g.map(page_bytes, read_write, flags);
    const auto second = g.map(page_bytes, read_write, flags, 0x7fff'f000);
    const auto third = g.map(page_bytes, read_write, flags, 0x9000'0000);
    CHECK(first >= 0x4000'0000);
    CHECK(first < 0x8000'0000);
    CHECK(second == 0x7fff'f000);
    CHECK(third < 0x8000'0000);
    CHECK(third != first);
    CHECK(static_cast<std::int64_t>(g.map(0x4000'0000, read_write, flags)) == -ENOMEM);
    CHECK(g.map(page_bytes) > 0x8000'0000);
}

TEST_CASE("random mmap, munmap, mprotect, madvise and mremap calls do what the kernel does") {
    std::mt19937 random(7);
    for (std::uint64_t round = 0; round < 40; ++round) {
        Arena arena;
        Guest g;
        for (std::uint64_t step = 1; step <= 40; ++step) {
            RandomCall c = random_call(random);
            MemoryMap before = maps_of_this_process();
            bool remaps = c.number == SYS_mremap;
            if (remaps && (c.args[1] % page_bytes || spans_mappings(before, c.args[0], c.args[1])))
                continue;
            write_marks(before, g.guest.space, round * 1000 + step);
            auto [a, b, d, e, f] = c.args;
            auto expected = Arena::call(c.number, a, b, d, e, f, 0);
            auto got = g.guest.call(c.number, a, b, d, e, f, 0);
            CAPTURE(round);
            CAPTURE(step);
            CAPTURE(c.number);
            REQUIRE(!g.guest.end);
            REQUIRE(got == expected);
            MemoryMap after = maps_of_this_process();
            for (std::uint64_t at = Arena::start; at < Arena::end; at += page_bytes) {
                CAPTURE(at);
                REQUIRE(is_same_page(after, g.guest.space, at));
            }
        }
    }
}

TEST_CASE("brk follows the kernel's rules") {
    Guest g;
    std::uint64_t start = g.outside.process.start_brk;
    auto brk = [&](std::uint64_t to) {
        return static_cast<std::uint64_t>(g.guest.call(SYS_brk, to));
    };
    CHECK(brk(0) == start);
    CHECK(brk(start + 0x1800) == start + 0x1800);
    CHECK(guest_store(g.guest.space, {start + 0x1fff}, char{1}));
    CHECK(!g.guest.space.find({start + 0x2000}));
    CHECK(brk(start - 1) == start + 0x1800);
    CHECK(brk(start + 0x800) == start + 0x800);
    CHECK(!g.guest.space.find({start + 0x1000}));
    // Growing the heap again shows zeros, and stops at the next mapping.
    CHECK(brk(start + 0x2000) == start + 0x2000);
    CHECK(read_value<char>(g.guest.space, {start + 0x1fff}) == 0);
    g.map(page_bytes, PROT_READ, private_anonymous | MAP_FIXED, start + 0x4000);
    CHECK(brk(start + 0x4000) == start + 0x2000);
    CHECK(brk(start + 0x3000) == start + 0x3000);
}

TEST_CASE("brk begins where the snapshot's heap ends") {
    Guest g;
    std::uint64_t start = g.outside.process.start_brk;
    g.guest.space.map({.start = {start},
                       .end = {start + 0x21000},
                       .readable = true,
                       .writable = true,
                       .name = "[heap]"});
    CHECK(static_cast<std::uint64_t>(g.guest.call(SYS_brk, 0)) == start + 0x21000);
}

TEST_CASE("a private file mapping shows the file and what the sample wrote to it") {
    Guest g;
    g.outside.add_file("/home/user/in.txt", std::string(5000, 'a'));
    g.outside.add_descriptor(3, "/home/user/in.txt", O_RDWR);
    g.guest.call(SYS_pwrite64, 3, g.guest.put("BBB"), 3, 4096);
    auto at =
        static_cast<std::uint64_t>(g.guest.call(SYS_mmap, 0, 8192, PROT_READ, MAP_PRIVATE, 3, 0));
    REQUIRE(!g.guest.end);
    CHECK(g.guest.text(at + 4094, 6) == "aaBBBa");
    CHECK(g.guest.text(at + 4999, 2) == std::string("a\0", 2));
    CHECK(!guest_store(g.guest.space, {at}, 'x'));
    CHECK(g.guest.space.find({at})->is_file());
    CHECK(g.guest.call(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, 99, 0) == -EBADF);
    CHECK(g.guest.call(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, 3, 100) == -EINVAL);
}

TEST_CASE("a file written through a shared mapping is not read back stale") {
    Guest g;
    g.outside.add_file("/home/user/in.txt", std::string(5000, 'a'));
    g.outside.add_descriptor(3, "/home/user/in.txt", O_RDWR);
    auto at = static_cast<std::uint64_t>(
        g.guest.call(SYS_mmap, 0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0));
    REQUIRE(guest_store(g.guest.space, {at}, 'x'));
    g.guest.call(SYS_pread64, 3, FakeGuest::data, 1, 0);
    CHECK(g.guest.end == SampleEnd::input);
}

TEST_CASE("mremap grows in place where there is room, and moves where there is none") {
    Guest g;
    std::uint64_t at = g.map(0x2000);
    guest_store(g.guest.space, {at + 0x1000}, 42);
    // The mapping lies at the top of the mmap area, with nothing above it.
    CHECK(static_cast<std::uint64_t>(g.guest.call(SYS_mremap, at, 0x2000, 0x3000, 0)) == at);
    g.map(page_bytes, PROT_READ, private_anonymous | MAP_FIXED, at + 0x3000);
    CHECK(g.guest.call(SYS_mremap, at, 0x3000, 0x5000, 0) == -ENOMEM);
    auto moved =
        static_cast<std::uint64_t>(g.guest.call(SYS_mremap, at, 0x3000, 0x5000, MREMAP_MAYMOVE));
    CHECK(moved != at);
    CHECK(read_value<int>(g.guest.space, {moved + 0x1000}) == 42);
    CHECK(!g.guest.space.find({at}));
    CHECK(g.guest.call(SYS_mremap, 0x1000, 0x1000, 0x2000, 0) == -EFAULT);
}

TEST_CASE("sizes that no address space has are refused") {
    Guest g;
    for (std::uint64_t size : {~0ull, ~0ull - 4095, 1ull << 63, 1ull << 48}) {
        CHECK(g.guest.call(SYS_mmap, 0, size, PROT_READ, private_anonymous, ~0ull, 0) == -ENOMEM);
        CHECK(g.guest.call(SYS_munmap, 0x10000, size) == -EINVAL);
        CHECK(g.guest.call(SYS_mprotect, 0x10000, size, PROT_READ) == -ENOMEM);
        CHECK(!g.guest.end);
    }
    CHECK(g.guest.call(SYS_mmap, 0, 0, PROT_READ, private_anonymous, ~0ull, 0) == -EINVAL);
}

}  // namespace shadowprof::guest_memory_test
