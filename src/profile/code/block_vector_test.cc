// Basic-block vectors: a few records of a sample must stand for all of them.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "profile/collect/test_traces.h"

namespace shadowprof::block_vector_test {
namespace {

using namespace testing;

std::uint64_t sum_of(const BlockVector& vector) {
    return std::accumulate(vector.instructions.begin(), vector.instructions.end(),
                           std::uint64_t{0});
}

double share_of(const BlockVector& vector, std::size_t bucket) {
    return static_cast<double>(vector.instructions[bucket]) / static_cast<double>(sum_of(vector));
}

double distance(const BlockVector& a, const BlockVector& b) {
    double sum = 0;
    for (std::size_t i = 0; i < BlockVector::buckets; ++i)
        sum += std::abs(share_of(a, i) - share_of(b, i));
    return sum;
}

TEST_CASE("records are looked at at random distances, one in so many") {
    RecordSampling sampled_records(1);
    Random random(2);
    std::uint64_t passed = 0, seen = 0;
    std::vector<std::uint64_t> by_remainder(8);
    while (passed < 2'000'000) {
        const std::uint64_t records = random.next() % 1000;
        sampled_records.pass(records, [&](std::uint64_t before, std::uint64_t) {
            CHECK(before < records);
            ++by_remainder[(passed + before) % 8];
            ++seen;
        });
        passed += records;
    }
    const double expected = static_cast<double>(passed) / RecordSampling::period;
    CHECK(static_cast<double>(seen) == doctest::Approx(expected).epsilon(0.03));
    for (const auto count : by_remainder)
        CHECK(static_cast<double>(count) == doctest::Approx(expected / 8).epsilon(0.1));
}

// A loop over blocks of different lengths, from `first` on.
struct Loop {
    explicit Loop(std::uint64_t first) {
        for (std::uint32_t i = 0; i < 8; ++i)
            ids.push_back(program.add(first + 16 * i, i == 7 ? Terminator::jump : Terminator::none,
                                      first, 1 + i));
    }
    // A sample in records of `blocks_of_record` blocks.
    BlockVector sample(TestRun& run, std::size_t blocks_of_record) {
        std::vector<std::uint64_t> records;
        for (std::size_t i = 0; i < ids.size(); i += blocks_of_record)
            records.push_back(
                blocks_of_record == 1
                    ? ids[i]
                    : program.sequence({ids.begin() + static_cast<long>(i),
                                        ids.begin() + static_cast<long>(i + blocks_of_record)}));
        std::vector<std::uint64_t> words;
        for (int i = 0; i < 20'000; ++i) words.insert(words.end(), records.begin(), records.end());
        run.sample(program, words);
        return run.collector.block_vector();
    }

    TestProgram program;
    std::vector<BlockId> ids;
};

TEST_CASE("vectors hold the shares of instructions, however blocks are joined to records") {
    TestRun run;
    Loop loop(0x1000);
    const auto single = loop.sample(run, 1);
    CHECK(single.sampled_records ==
          doctest::Approx(8 * 20'000.0 / RecordSampling::period).epsilon(0.1));
    run.collector.new_emulator();
    const auto joined = loop.sample(run, 4);
    CHECK(joined.sampled_records ==
          doctest::Approx(2 * 20'000.0 / RecordSampling::period).epsilon(0.1));
    CHECK(distance(single, joined) < 0.25);
}

TEST_CASE("vectors of unlike code are far apart, in one run the same code is alike") {
    TestRun run;
    SampleCollector& other = run.profile.add_collector();
    Loop first(0x1000), second(0x9000);
    const auto a = first.sample(run, 4), b = first.sample(run, 4);
    CHECK(distance(a, b) < 0.3);
    run.collector.new_emulator();
    const auto c = second.sample(run, 4);
    CHECK(distance(a, c) > 1);
    std::vector<std::uint64_t> words;
    for (int i = 0; i < 20'000; ++i) words.insert(words.end(), first.ids.begin(), first.ids.end());
    other.begin({.resolver = run.resolver, .stack = {}});
    other.add(batch(words), first.program.table());
    other.end();
    CHECK(distance(a, other.block_vector()) < 0.6);
    CHECK(distance(c, other.block_vector()) > 1);
}

TEST_CASE("a vector is of one sample, and of samples only") {
    TestRun run, exact({.are_samples = false});
    Loop loop(0x1000);
    loop.sample(run, 1);
    run.sample(loop.program, {0});
    CHECK(run.collector.block_vector().sampled_records <= 1);
    CHECK(loop.sample(exact, 1).sampled_records == 0);
}

}  // namespace
}  // namespace shadowprof::block_vector_test
