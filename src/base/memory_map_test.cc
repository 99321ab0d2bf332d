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

TEST_CASE("what is replaced is cut at both ends, with the file positions that were there") {
    const auto piece = [](std::uint64_t start, std::uint64_t end, std::uint64_t offset) {
        return Mapping{.start = {start}, .end = {end}, .file_offset = offset, .inode = 1};
    };
    const auto is = [](const MemoryMap& map, std::vector<Mapping> wanted) {
        return map == MemoryMap(std::move(wanted));
    };
    const MemoryMap before(
        {piece(0x1000, 0x4000, 0x100), piece(0x5000, 0x6000, 0x200), piece(0x6000, 0x9000, 0x300)});
    auto map = before;
    map.replace({0x2000}, {0x3000}, {});
    CHECK(is(map, {piece(0x1000, 0x2000, 0x100), piece(0x3000, 0x4000, 0x2100),
                   piece(0x5000, 0x6000, 0x200), piece(0x6000, 0x9000, 0x300)}));
    map.replace({0x2000}, {0x7000}, {piece(0x2000, 0x2800, 7), piece(0x2800, 0x3000, 8)});
    CHECK(is(map, {piece(0x1000, 0x2000, 0x100), piece(0x2000, 0x2800, 7), piece(0x2800, 0x3000, 8),
                   piece(0x7000, 0x9000, 0x1300)}));
    map = before;
    map.replace({0x4000}, {0x5000}, {piece(0x4000, 0x5000, 9)});
    CHECK(map.mappings().size() == 4);
    CHECK(map.find({0x4800})->file_offset == 9);
    map.replace({0}, {0x10000}, {});
    CHECK(map.mappings().empty());
    map.replace({0x1000}, {0x2000}, {piece(0x1000, 0x2000, 1)});
    CHECK(is(map, {piece(0x1000, 0x2000, 1)}));
}

TEST_CASE("hostile maps text is refused, not believed") {
    CHECK(!MemoryMap::parse("nonsense\n"));
    CHECK(!MemoryMap::parse("2000-1000 r-xp 00000000 00:00 0\n"));
    CHECK(!MemoryMap::parse("1000-3000 r-xp 00000000 00:00 0\n2000-4000 r-xp 00000000 00:00 0\n"));
    CHECK(!MemoryMap::parse("1000-3000 r-"));
    CHECK(MemoryMap::parse("")->mappings().empty());
}

}  // namespace shadowprof::memory_map_test
