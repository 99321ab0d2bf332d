#include "base/memory_map.h"

#include <doctest/doctest.h>

namespace shadowprof::memory_map_test {

TEST_CASE("a maps text is read with every field") {
    auto map = MemoryMap::parse(
        "555555554000-555555556000 r-xp 00001000 fd:01 1234                       /usr/bin/a b\n"
        "7ffff7ff0000-7ffff7ff2000 rw-s 00000000 00:00 0 \n"
        "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]\n");
    REQUIRE(map);
    REQUIRE(map->mappings().size() == 3);
    const Mapping& text = map->mappings()[0];
    CHECK(text.start.value == 0x555555554000);
    CHECK(text.size_bytes() == 0x2000);
    CHECK(text.readable);
    CHECK(!text.writable);
    CHECK(text.executable);
    CHECK(text.file_offset == 0x1000);
    CHECK(text.inode == 1234);
    CHECK(text.name == "/usr/bin/a b");
    CHECK(map->mappings()[1].shared);
    CHECK(map->mappings()[2].name == "[stack]");
}

TEST_CASE("look-ups find the containing mapping and the next one") {
    MemoryMap map({{.start = {0x5000}, .end = {0x6000}}, {.start = {0x1000}, .end = {0x3000}}});
    CHECK(map.find({0xfff}) == nullptr);
    CHECK(map.find({0x1000})->start.value == 0x1000);
    CHECK(map.find({0x2fff})->start.value == 0x1000);
    CHECK(map.find({0x3000}) == nullptr);
    CHECK(map.find_at_or_after({0x3000})->start.value == 0x5000);
    CHECK(map.find_at_or_after({0x6000}) == nullptr);
}

TEST_CASE("hostile maps text is refused, not believed") {
    CHECK(!MemoryMap::parse("nonsense\n"));
    CHECK(!MemoryMap::parse("2000-1000 r-xp 00000000 00:00 0\n"));
    CHECK(!MemoryMap::parse("1000-3000 r-xp 00000000 00:00 0\n2000-4000 r-xp 00000000 00:00 0\n"));
    CHECK(!MemoryMap::parse("1000-3000 r-"));
    CHECK(MemoryMap::parse("")->mappings().empty());
}

}  // namespace shadowprof::memory_map_test
