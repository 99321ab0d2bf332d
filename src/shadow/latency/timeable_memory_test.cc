#include "shadow/latency/timeable_memory.h"

#include <doctest/doctest.h>

namespace shadowprof::timeable_memory_test {
namespace {

constexpr std::string_view maps =
    "1000-2000 r--p 00000000 08:01 7 /usr/bin/prog\n"
    "2000-3000 rw-p 00000000 00:00 0 \n"
    "3000-4000 ---p 00000000 00:00 0 \n"
    "4000-5000 rw-s 00000000 00:05 9 /dev/shm/x\n"
    "5000-6000 rw-p 00000000 00:06 3 /dev/mem\n"
    "6000-7000 r--p 00000000 00:00 0 [vvar]\n"
    "7000-8000 rw-p 00000000 00:00 0 [heap]\n";

}  // namespace

TEST_CASE("names alone let in private memory and files, no devices") {
    const auto map = MemoryMap::parse(maps);
    REQUIRE(map);
    const TimeableMemory memory(*map);
    CHECK(memory.contains({0x1000}, {0x1007}));
    CHECK(memory.contains({0x1ffc}, {0x2003}));  // across two mappings
    CHECK(memory.contains({0x7fff}, {0x7fff}));
    CHECK_FALSE(memory.contains({0x7ffc}, {0x8003}));
    CHECK_FALSE(memory.contains({0x2ffc}, {0x3003}));
    CHECK_FALSE(memory.contains({0x3000}, {0x3000}));
    CHECK_FALSE(memory.contains({0x4000}, {0x4007}));
    CHECK_FALSE(memory.contains({0x5000}, {0x5007}));
    CHECK_FALSE(memory.contains({0x6000}, {0x6007}));
    CHECK_FALSE(memory.contains({0x9000}, {0x9007}));
    CHECK_FALSE(TimeableMemory().contains({0x1000}, {0x1007}));
    CHECK(wants_smaps(*map));
}

TEST_CASE("smaps lets shared files in and leaves device memory out") {
    const auto memory = TimeableMemory::parse(
        "4000-5000 rw-s 00000000 00:05 9 /dev/shm/x\nSize: 4 kB\nVmFlags: rd wr sh mr mw me ms\n"
        "5000-6000 rw-s 00000000 00:06 3 /dev/mem\nVmFlags: rd wr sh io pf\n"
        "6000-7000 rw-p 00000000 00:00 0 \nVmFlags: rd wr um\n"
        "7000-8000 rw-p 00000000 00:00 0 \nVmFlags: rd wr\n");
    REQUIRE(memory);
    CHECK(memory->contains({0x4000}, {0x4007}));
    CHECK_FALSE(memory->contains({0x5000}, {0x5007}));
    CHECK_FALSE(memory->contains({0x6000}, {0x6007}));
    CHECK(memory->contains({0x7000}, {0x7007}));
    CHECK_FALSE(TimeableMemory::parse("nonsense\nVmFlags: rd\n"));
}

}  // namespace shadowprof::timeable_memory_test
