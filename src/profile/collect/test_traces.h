// For tests: programs of made-up blocks, their traces, and a collector for them.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <vector>

#include "emu/trace/trace.h"
#include "profile/collect/process_profile.h"
#include "profile/kinds/values/invariance.h"

namespace shadowprof::testing {

// Guest addresses are locations in module 0.
class IdentityResolver final : public AddressResolver {
  public:
    CodeLocation resolve(GuestAddress address) override { return {0, address.value}; }
};

inline CodeLocation at(std::uint64_t address) {
    return {0, address};
}

// Blocks of 16 bytes whose last instruction is at offset 12.
class TestProgram {
  public:
    static constexpr std::uint64_t block_bytes = 16;
    static constexpr std::uint64_t branch_offset = 12;

    BlockId add(std::uint64_t start, Terminator terminator, std::uint64_t target = 0,
                std::uint32_t instructions = 3) {
        BlockInfo block{};
        block.start = {start};
        block.last = {start + branch_offset};
        block.end = {start + block_bytes};
        block.target = {target};
        block.instructions = instructions;
        block.terminator = terminator;
        blocks.push_back(block);
        return static_cast<BlockId>(blocks.size() - 1);
    }
    // Adds the block `id` traced with values.
    BlockId with_values(BlockId id, std::initializer_list<ValueSlot> of) {
        BlockInfo block = blocks[id];
        block.level = TraceLevel::values;
        block.first_slot = static_cast<std::uint32_t>(slots.size());
        block.slots = static_cast<std::uint16_t>(of.size());
        for (const ValueSlot& slot : of) {
            slots.push_back(slot);
            block.value_words = static_cast<std::uint16_t>(block.value_words + slot.words);
        }
        blocks.push_back(block);
        return static_cast<BlockId>(blocks.size() - 1);
    }
    // Adds the block `id` traced with references.
    BlockId with_references(BlockId id, std::initializer_list<ReferenceSlot> of) {
        BlockInfo block = blocks[id];
        block.level = TraceLevel::references;
        block.first_slot = static_cast<std::uint32_t>(references.size());
        block.slots = static_cast<std::uint16_t>(of.size());
        for (const ReferenceSlot& slot : of) {
            references.push_back(slot);
            block.value_words = static_cast<std::uint16_t>(block.value_words + slot.words);
        }
        blocks.push_back(block);
        return static_cast<BlockId>(blocks.size() - 1);
    }
    BlockId sequence(const std::vector<BlockId>& of) {
        BlockInfo row = blocks[of[0]];
        row.first_part = static_cast<std::uint32_t>(parts.size());
        row.parts = static_cast<std::uint16_t>(of.size());
        row.slots = 0;
        row.value_words = 0;
        for (BlockId id : of)
            row.value_words = static_cast<std::uint16_t>(row.value_words + blocks[id].value_words);
        parts.insert(parts.end(), of.begin(), of.end());
        blocks.push_back(row);
        return static_cast<BlockId>(blocks.size() - 1);
    }
    BlockTable table() const { return {blocks, slots, parts, references}; }

    std::vector<BlockInfo> blocks;
    std::vector<ValueSlot> slots;
    std::vector<BlockId> parts;
    std::vector<ReferenceSlot> references;
};

// Returns a batch as the emulator leaves it: the oldest word last.
inline std::vector<std::uint64_t> batch(std::vector<std::uint64_t> oldest_first) {
    std::reverse(oldest_first.begin(), oldest_first.end());
    return oldest_first;
}

// Collects samples of one program.
class TestRun {
  public:
    explicit TestRun(CollectorOptions options = {})
        : profile(options, modules), collector(profile.add_collector()) {}

    void begin(std::vector<std::uint64_t> stack = {}, std::uint64_t skip_instructions = 0) {
        set_stack(stack);
        collector.begin({resolver, stack_, skip_instructions});
    }
    void begin_weighted(std::uint32_t weight, std::vector<std::uint64_t> stack) {
        set_stack(stack);
        collector.begin({.resolver = resolver, .stack = stack_, .weight = weight});
    }
    void begin_with_bursts(const BurstPlan& plan, std::uint64_t seed,
                           std::vector<std::uint64_t> stack = {}, std::uint32_t weight = 1) {
        set_stack(stack);
        collector.begin({.resolver = resolver,
                         .stack = stack_,
                         .weight = weight,
                         .bursts = &plan,
                         .seed = seed});
    }
    BatchResult add(const TestProgram& program, std::vector<std::uint64_t> oldest_first) {
        return collector.add(batch(std::move(oldest_first)), program.table());
    }
    // A whole sample, in one batch.
    BatchResult sample(const TestProgram& program, std::vector<std::uint64_t> oldest_first,
                       std::vector<std::uint64_t> stack = {}) {
        begin(std::move(stack));
        BatchResult result = add(program, std::move(oldest_first));
        collector.end();
        return result;
    }
    // The profile, as if everything had been emulated.
    Profile result() {
        Profile filled;
        profile.fill(filled);
        filled.sampling.exact.emplace();
        state_invariance(filled);
        return filled;
    }

    ModuleTable modules;
    IdentityResolver resolver;
    ProcessProfile profile;
    SampleCollector& collector;

  private:
    void set_stack(const std::vector<std::uint64_t>& stack) {
        stack_.clear();
        for (std::uint64_t address : stack) stack_.push_back({address});
    }

    std::vector<GuestAddress> stack_;
};

}  // namespace shadowprof::testing
