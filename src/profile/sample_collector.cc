#include "profile/sample_collector.h"

#include <algorithm>
#include <cassert>

namespace shadowprof {
namespace {

// Blocks translated at a time: few enough to stay in the first-level cache.
constexpr std::size_t chunk_blocks = 4096;
static_assert(chunk_blocks > 2 * max_path_blocks);

// The stack's locations. Return addresses are looked up by the call they follow: a call that never
// returns may be the last instruction of its module.
std::vector<CodeLocation> locate(std::span<const GuestAddress> stack, AddressResolver& resolver) {
    std::vector<CodeLocation> locations;
    for (GuestAddress address :
         stack.first(std::min<std::size_t>(stack.size(), StackTree::max_depth))) {
        if (locations.empty()) {
            locations.push_back(resolver.resolve(address));
            continue;
        }
        CodeLocation call = resolver.resolve(address - 1);
        locations.push_back({call.module, call.address + 1});
    }
    return locations;
}

}  // namespace

SampleCollector::SampleCollector(BlockRegistry& registry, SharedTotals& totals,
                                 const CollectorOptions& options)
    : totals_(totals),
      blocks_(registry),
      bank_(options.seed, options.tnv),
      reader_(registry, blocks_, options.values ? &bank_ : nullptr),
      graph_(blocks_),
      stream_(chunk_blocks + PathGraph::slack_tokens) {}

void SampleCollector::new_emulator() {
    std::lock_guard lock(mutex_);
    assert(!in_sample_);
    reader_.new_emulator();
}

void SampleCollector::begin(const SampleStart& start) {
    std::lock_guard lock(mutex_);
    assert(!in_sample_);
    in_sample_ = true;
    reader_.begin(start.resolver);
    graph_.start(locate(start.stack, start.resolver));
    pending_ = 0;
    skip_instructions_ = start.skip_instructions;
    reported_instructions_ = 0;
}

BatchResult SampleCollector::add(std::span<const std::uint64_t> batch, const BlockTable& table) {
    std::lock_guard lock(mutex_);
    assert(in_sample_);
    const std::uint64_t before = instructions();
    while (!batch.empty() && !reader_.damaged()) {
        const auto room = std::span(stream_).subspan(pending_, chunk_blocks - pending_);
        pending_ += reader_.read(batch, table, room);
        consume();
    }
    return {instructions() - before, reader_.damaged()};
}

void SampleCollector::end() {
    std::lock_guard lock(mutex_);
    assert(in_sample_);
    in_sample_ = false;
    if (skip_instructions_ == 0) graph_.finish(std::span(stream_).first(pending_));
    pending_ = 0;
    std::lock_guard totals_lock(totals_.mutex);
    totals_.flow.add_instructions(graph_.instructions() - reported_instructions_);
    reported_instructions_ = graph_.instructions();
    ++totals_.samples;
    totals_.damaged_samples += reader_.damaged();
}

void SampleCollector::add_to(ValueTotals& values) {
    std::lock_guard lock(mutex_);
    fold();
    values.add(bank_);
}

// Counted in this sample, those included that wait for their path to end.
std::uint64_t SampleCollector::instructions() const {
    std::uint64_t sum = graph_.instructions();
    if (skip_instructions_ != 0) return sum;
    for (BlockToken token : std::span(stream_).first(pending_)) sum += blocks_[token].instructions;
    return sum;
}

void SampleCollector::consume() {
    std::size_t at = 0;
    if (skip_instructions_ != 0)
        at = graph_.skip(std::span(stream_).first(pending_), skip_instructions_);
    while (skip_instructions_ == 0) {
        at += graph_.advance(std::span(stream_).subspan(at, pending_ - at));
        if (!graph_.full()) break;
        empty_graph();
    }
    std::copy(stream_.begin() + static_cast<std::ptrdiff_t>(at),
              stream_.begin() + static_cast<std::ptrdiff_t>(pending_), stream_.begin());
    pending_ -= at;
}

void SampleCollector::empty_graph() {
    fold();
    graph_.clear();
    std::lock_guard lock(totals_.mutex);
    ++totals_.graphs_emptied;
}

void SampleCollector::fold() {
    std::lock_guard lock(totals_.mutex);
    graph_.fold_into(totals_.flow);
    totals_.flow.add_instructions(graph_.instructions() - reported_instructions_);
    reported_instructions_ = graph_.instructions();
}

}  // namespace shadowprof
