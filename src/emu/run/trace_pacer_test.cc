// The share of bursts that are counted in events, for different records.
#include "emu/run/trace_pacer.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace shadowprof::trace_pacer_test {
namespace {

// A program that executes one record over and over: a loop, at all three levels.
class Loop {
  public:
    // Each record is one iteration: `parts` blocks of ten instructions. Each block calls the next
    // one; the last one jumps back. A block has `block_words` words behind its id at
    // TraceLevel::values, and `reference_words` at TraceLevel::references.
    Loop(std::size_t parts, std::uint16_t block_words, std::uint16_t reference_words = 1) {
        for (const auto level : {TraceLevel::blocks, TraceLevel::values, TraceLevel::references}) {
            std::vector<BlockId> ids;
            for (std::size_t i = 0; i < parts; ++i) {
                const bool last = i + 1 == parts;
                BlockInfo block{};
                block.start = {0x1000 + 0x100 * i};
                block.last = {0x1020 + 0x100 * i};
                block.target = {last ? 0x1000 : 0x1100 + 0x100 * i};
                block.instructions = 10;
                block.terminator = last ? Terminator::jump : Terminator::call;
                block.level = level;
                block.value_words = level == TraceLevel::blocks   ? std::uint16_t{0}
                                    : level == TraceLevel::values ? block_words
                                                                  : reference_words;
                ids.push_back(*tables_.add(block, std::span<const ValueSlot>{}));
            }
            auto id = ids[0];
            if (parts > 1) id = *tables_.add_sequence(ids) + static_cast<BlockId>(parts) - 1;
            ids_[static_cast<std::size_t>(level)] = id;
        }
    }

    const BlockTables& tables() const { return tables_; }
    const BlockInfo& row(TraceLevel level) const { return tables_[id(level)]; }
    // As many whole records as fit into `words`.
    std::vector<std::uint64_t> trace(TraceLevel level, std::size_t words) const {
        const auto& record = row(level);
        const std::size_t length = 1u + record.value_words;
        std::vector<std::uint64_t> trace(words / length * length, 0x7777);
        for (std::size_t at = trace.size(); at != 0; at -= length) trace[at - 1] = id(level);
        return trace;
    }

  private:
    std::array<BlockInfo, 512> blocks_{};
    std::array<ValueSlot, 1> slots_{};
    std::array<BlockId, 512> parts_{};
    std::array<ReferenceSlot, 1> references_{};
    BlockTables tables_{blocks_, slots_, parts_, references_};
    BlockId id(TraceLevel level) const { return ids_[static_cast<std::size_t>(level)]; }

    BlockId ids_[3] = {};  // by level
};

struct Seen {
    std::uint64_t records[3] = {};  // by level
    std::uint64_t bursts = 0;

    double value_share() const { return share(1); }
    double share(std::size_t level) const {
        return static_cast<double>(records[level]) /
               static_cast<double>(records[0] + records[1] + records[2]);
    }
};

Seen run(const Loop& loop, const RunLimits& limits) {
    TracePacer pacer(limits, loop.tables());
    Seen seen;
    bool in_values = false;
    for (int buffers = 0; !pacer.finished(); ++buffers) {
        REQUIRE(buffers < 1'000'000);
        const auto words = pacer.next_words(32 << 10);
        const auto level = pacer.level();
        const auto trace = loop.trace(level, words);
        pacer.account(trace);
        const bool values = level == TraceLevel::values;
        seen.records[static_cast<std::size_t>(level)] +=
            trace.size() / (1u + loop.row(level).value_words);
        seen.bursts += values && !in_values;
        in_values = values;
    }
    return seen;
}

RunLimits limits_of(std::uint64_t length, std::uint64_t every, EventKinds events = {}) {
    return {.instructions = 50'000'000,
            .value_events = length,
            .events_between_values = every,
            .events_between_references = every,
            .events = events,
            .seed = 5};
}

void check_share(const Seen& seen, double length, double every, double tolerance) {
    const double share = length / (length + every);
    CHECK(seen.value_share() > share * (1 - tolerance));
    CHECK(seen.value_share() < share * (1 + tolerance));
}

}  // namespace

TEST_CASE("the steps of a sequence are counted by kind") {
    const Loop loop(5, 3);
    const auto& row = loop.row(TraceLevel::blocks);
    CHECK(row.calls == 4);
    CHECK(row.back_edges == 0);
    CHECK(BlockTables::events_in(row, {true, true}) == 4);
    CHECK(BlockTables::events_in(row, {false, true}) == 0);
}

TEST_CASE("values are traced for their share of the events") {
    for (const std::size_t parts : {1u, 4u, 30u}) {
        const Loop loop(parts, 12);
        for (const std::uint64_t every : {100u, 1000u, 10'000u}) {
            for (const std::uint64_t length : {1u, 10u, 100u, 1000u}) {
                // There would be so few bursts that chance decides their number.
                if (every / length > 1000) continue;
                CAPTURE(parts);
                CAPTURE(every);
                CAPTURE(length);
                const auto seen = run(loop, limits_of(length, every));
                CHECK(seen.bursts > 0);
                check_share(seen, double(length), double(every), 0.25);
            }
        }
    }
}

TEST_CASE("values and references are traced for the same share, if they are to be") {
    for (const std::size_t parts : {1u, 4u, 30u}) {
        const Loop loop(parts, 12);
        auto limits = limits_of(200, 2000);
        limits.reference_events = 200;
        const auto seen = run(loop, limits);
        for (const std::size_t level : {1u, 2u}) {
            CHECK(seen.share(level) > 0.75 * 200 / 2400);
            CHECK(seen.share(level) < 1.25 * 200 / 2400);
        }
    }
}

TEST_CASE("values and references have their own frequencies") {
    for (const std::size_t parts : {1u, 4u}) {
        for (const std::uint64_t between_references : {500u, 20'000u}) {
            CAPTURE(parts);
            CAPTURE(between_references);
            const Loop loop(parts, 12);
            auto limits = limits_of(200, 2000);
            limits.reference_events = 200;
            limits.events_between_references = between_references;
            const auto seen = run(loop, limits);
            // Shares are relative to the events outside of bursts.
            const auto share = [&](std::size_t level) { return seen.share(level) / seen.share(0); };
            CHECK(share(1) > 0.75 * 200 / 2000);
            CHECK(share(1) < 1.25 * 200 / 2000);
            CHECK(share(2) > 0.75 * 200 / static_cast<double>(between_references));
            CHECK(share(2) < 1.25 * 200 / static_cast<double>(between_references));
        }
    }
}

TEST_CASE("the rare kind of bursts is first in few runs, and in some") {
    const Loop loop(1, 12);
    auto limits = limits_of(200, 2000);
    limits.instructions = 30'000;
    limits.reference_events = 200;
    limits.events_between_references = 20'000;
    int with_references = 0, with_values = 0;
    constexpr int seeds = 400;
    for (limits.seed = 1; limits.seed <= seeds; ++limits.seed) {
        const auto seen = run(loop, limits);
        with_references += seen.records[2] != 0;
        with_values += seen.records[1] != 0;
    }
    CHECK(with_values > seeds / 2);
    CHECK(with_references > 0);
    CHECK(with_references < seeds / 4);
}

TEST_CASE("only the events that are asked for are counted") {
    const Loop loop(11, 12);  // ten calls for each back-edge
    const auto calls = run(loop, limits_of(2000, 20'000, {true, false}));
    const auto back_edges = run(loop, limits_of(2000, 20'000, {false, true}));
    check_share(calls, 2000, 20'000, 0.25);
    check_share(back_edges, 2000, 20'000, 0.25);
    CHECK(calls.bursts > 5 * back_edges.bursts);
}

TEST_CASE("a record that takes more than the least burst does not hang") {
    const Loop loop(1, 3000);
    const auto seen = run(loop, limits_of(1, 1000));
    CHECK(seen.records[1] > 0);
    check_share(seen, 1, 1000, 0.5);
}

TEST_CASE("where there are no events, values are not traced for ever") {
    const Loop loop(1, 12);
    auto limits = limits_of(10, 1, {true, false});
    const auto seen = run(loop, limits);
    CHECK(seen.value_share() < 0.01);
}

TEST_CASE("the same seed makes the same bursts, another one others") {
    const Loop loop(1, 12);
    auto limits = limits_of(50, 5000);
    const auto first = run(loop, limits), again = run(loop, limits);
    CHECK(first.records[1] == again.records[1]);
    limits.seed = 6;
    CHECK(run(loop, limits).records[0] != first.records[0]);
}

}  // namespace shadowprof::trace_pacer_test
