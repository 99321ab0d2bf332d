// Accesses to memory and what the modelled caches miss, from a trace into a profile.
#include <doctest/doctest.h>

#include "profile/collect/test_traces.h"
#include "profile/kinds/cache/cache_parameters.h"
#include "profile/merge/merge.h"

namespace shadowprof::cache_test {
namespace {

using namespace testing;

// 4 KiB and 16 KiB.
CacheModel two_levels() {
    return {.source = "host",
            .levels = {{"L1d", 4096, 4, 64, CacheFill::non_inclusive},
                       {"L2", 16384, 8, 64, CacheFill::inclusive}}};
}

// A block at 0x1000 that loads 8 bytes at offset 4, and stores at a word's distance at offset 8.
struct Accesses {
    TestProgram program;
    BlockId plain = program.add(0x1000, Terminator::jump, 0x1000);
    BlockId block = program.with_references(plain, {{.instruction_offset = 4,
                                                     .instruction = 1,
                                                     .words = 1,
                                                     .flags = ReferenceSlot::load,
                                                     .bytes = 8},
                                                    {.instruction_offset = 8,
                                                     .instruction = 2,
                                                     .words = 0,
                                                     .source = 0,
                                                     .flags = ReferenceSlot::store,
                                                     .addend = 8,
                                                     .bytes = 8}});
    TestRun run{{.values = false, .caches = two_levels()}};

    Profile walk(std::uint64_t bytes, std::uint64_t stride, int rounds) {
        std::vector<std::uint64_t> words;
        for (int round = 0; round < rounds; ++round)
            for (std::uint64_t at = 0; at < bytes; at += stride)
                words.insert(words.end(), {block, 0x7000'0000 + at});
        run.sample(program, words);
        return run.result();
    }
};

TEST_CASE("accesses and misses are counted by instruction") {
    Accesses accesses;
    // Twice what the first level holds, half of the second one.
    const Profile profile = accesses.walk(8192, 64, 10);
    REQUIRE(profile.cache.size() == 2);
    CHECK(profile.cache[0] == CacheAccesses{at(0x1004), 1280, 1280, 128, 128});
    CHECK(profile.cache[1] == CacheAccesses{at(0x1008), 1280, 0, 0, 0, {1280, 0, 0, 0}});
    CHECK(profile.cache_model == two_levels());
    const auto& counters = profile.sampling.counters;
    CHECK(counters.at("cache_accesses") == 2560);
    CHECK(counters.at("cache_l1_misses") == 1280);
    CHECK(counters.at("cache_l2_misses") == 128);
    CHECK(counters.at("cache_l3_misses") == 128);
    CHECK(profile.hazards.empty());
    CHECK(profile.notes.empty());
}

TEST_CASE("what crosses a line misses once in two lines") {
    Accesses accesses;
    const Profile profile = accesses.walk(1, 64, 1);
    CHECK(profile.cache[0] == CacheAccesses{at(0x1004), 1, 1, 1, 1});
    Accesses crossing;
    std::vector<std::uint64_t> words{crossing.block, 0x7000'003c};
    crossing.run.sample(crossing.program, words);
    const Profile crossed = crossing.run.result();
    CHECK(crossed.cache[0] == CacheAccesses{at(0x1004), 1, 1, 1, 1});
    CHECK(crossed.cache[1] == CacheAccesses{at(0x1008), 1, 0, 0, 0, {1, 0, 0, 0}});
}

TEST_CASE("repeated operations are told of") {
    TestProgram program;
    const BlockId plain = program.add(0x1000, Terminator::jump, 0x1000);
    const BlockId block =
        program.with_references(plain, {{.instruction_offset = 4,
                                         .instruction = 1,
                                         .words = 1,
                                         .flags = ReferenceSlot::store | ReferenceSlot::repeated,
                                         .bytes = 1}});
    TestRun run{{.values = false, .caches = two_levels()}};
    run.sample(program, {block, 0x7000'0000, block, 0x7000'1000});
    const auto notes = run.result().notes;
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].starts_with("cache: of 2 repeated string operations"));
}

TEST_CASE("without being asked for there is no model") {
    Accesses accesses;
    TestRun run{{.references = ReorderWindow{}}};
    run.sample(accesses.program, {accesses.block, 0x7000'0000});
    CHECK(run.result().cache.empty());
    CHECK_FALSE(run.result().cache_model);
    CHECK_FALSE(run.result().sampling.counters.contains("cache_accesses"));
}

TEST_CASE("merged profiles add up; those of different caches say so") {
    Accesses accesses;
    Profile one = accesses.walk(8192, 64, 1);
    one.modules = {{"/bin/a", "aa", 1}};
    Profile sum = one;
    merge_into(sum, one);
    CHECK(sum.cache[0] == CacheAccesses{at(0x1004), 256, 256, 256, 256});
    CHECK(sum.cache_model == two_levels());
    Profile other = one;
    other.cache_model = default_cache_model();
    merge_into(sum, other);
    CHECK(sum.cache[0].accesses == 384);
    CHECK_FALSE(sum.cache_model);
    CHECK(std::ranges::count(sum.notes, std::string(CacheList::unequal_hosts)) == 1);
}

}  // namespace
}  // namespace shadowprof::cache_test
