// For tests: programs and traces that several tests use.
#pragma once

#include <map>
#include <vector>

#include "profile/collect/test_traces.h"
#include "profile/statistics/random.h"

namespace shadowprof::testing {

using Words = std::vector<std::uint64_t>;

// Twelve blocks with every kind of end, some of them in loops.
inline TestProgram some_program() {
    TestProgram program;
    for (std::uint64_t i = 0; i < 12; ++i) {
        constexpr Terminator kinds[] = {Terminator::conditional, Terminator::call, Terminator::ret,
                                        Terminator::indirect_jump};
        const std::uint64_t target = i % 3 == 0 ? 0x1000 : 0x1000 + 16 * ((i * 5) % 12);
        program.add(0x1000 + 16 * i, kinds[i % 4], target, 1 + static_cast<std::uint32_t>(i));
    }
    return program;
}

// Replaces some blocks of a trace by sequences, which repeat.
inline Words with_sequences(TestProgram& program, const Words& plain, Random& random) {
    std::map<std::vector<BlockId>, BlockId> known;
    Words words;
    for (std::size_t at = 0; at < plain.size();) {
        const std::size_t length = 1 + random.next() % max_sequence_parts;
        if (random.coin(0.4) || at + length > plain.size()) {
            words.push_back(plain[at++]);
            continue;
        }
        std::vector<BlockId> parts;
        for (std::size_t i = 0; i < length; ++i) parts.push_back(static_cast<BlockId>(plain[at++]));
        const auto [found, added] = known.try_emplace(parts, 0);
        if (added) found->second = program.sequence(parts);
        words.push_back(found->second);
    }
    return words;
}

// Blocks that follow each other in so many ways that the path graph becomes full.
struct GraphFillingStream {
    TestProgram program;
    Words trace = Words(600'000);

    GraphFillingStream() {
        constexpr std::uint64_t blocks = 400;
        for (std::uint64_t i = 0; i < blocks; ++i)
            program.add(0x1000 + 16 * i, i % 5 == 0   ? Terminator::indirect_call
                                         : i % 5 == 1 ? Terminator::ret
                                                      : Terminator::indirect_jump);
        Random random(3);
        for (auto& word : trace) word = random.next() % blocks;
    }
};

}  // namespace shadowprof::testing
