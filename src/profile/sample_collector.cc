#include "profile/sample_collector.h"

#include <algorithm>
#include <cassert>

namespace shadowprof {
namespace {

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
      follower_(graph_, reader_.tokens()) {}

void SampleCollector::new_emulator() {
    std::lock_guard lock(mutex_);
    assert(!in_sample_);
    // The follower knows records by their ids, which mean something else from now on.
    follower_.flush();
    follower_.forget();
    reader_.new_emulator();
}

void SampleCollector::begin(const SampleStart& start) {
    std::lock_guard lock(mutex_);
    assert(!in_sample_);
    in_sample_ = true;
    reader_.begin(start.resolver);
    follower_.start(graph_.start(locate(start.stack, start.resolver)), {});
    skipped_.clear();
    skip_instructions_ = start.skip_instructions;
    instructions_ = reported_instructions_ = 0;
}

BatchResult SampleCollector::add(std::span<const std::uint64_t> batch, const BlockTable& table) {
    std::lock_guard lock(mutex_);
    assert(in_sample_);
    const std::uint64_t before = instructions_;
    reader_.open(batch, table);
    while (!reader_.at_end()) {
        if (skip_instructions_ == 0) follow();
        if (const auto record = reader_.read()) take(*record);
    }
    return {instructions_ - before, reader_.damaged()};
}

// Records that follow each other as they did before.
void SampleCollector::follow() {
    const auto follow_all = [&](auto records) {
        instructions_ += follower_.follow(records);
        reader_.skip_to(records);
    };
    if (reader_.copied())
        follow_all(TraceReader::KnownRecords(reader_));
    else
        follow_all(TraceReader::PlainRecords(reader_));
}

void SampleCollector::take(const TraceRecord& record) {
    if (skip_instructions_ != 0)
        return skip(std::span(reader_.tokens()).subspan(record.first_block, record.blocks));
    instructions_ += record.instructions;
    follower_.take(record);
    if (follower_.full() || graph_.full()) empty_graph();
}

void SampleCollector::skip(std::span<const BlockToken> blocks) {
    skipped_.insert(skipped_.end(), blocks.begin(), blocks.end());
    auto followed = graph_.skip(follower_.node(), skipped_, skip_instructions_);
    const auto consume = [&] {
        skipped_.erase(skipped_.begin(),
                       skipped_.begin() + static_cast<std::ptrdiff_t>(followed.blocks));
    };
    consume();
    if (skip_instructions_ != 0) return follower_.start(followed.node, {});
    for (BlockToken token : skipped_) instructions_ += blocks_[token].instructions;
    std::vector<PathGraph::LinkId> taken;
    followed = graph_.follow(followed.node, skipped_, 0, taken);
    for (auto link : taken) graph_.count(link, 1);
    consume();
    follower_.start(followed.node, skipped_);
}

void SampleCollector::end() {
    std::lock_guard lock(mutex_);
    assert(in_sample_);
    in_sample_ = false;
    if (skip_instructions_ == 0) follower_.finish();
    reader_.hand_on_values();
    std::lock_guard totals_lock(totals_.mutex);
    totals_.flow.add_instructions(instructions_ - reported_instructions_);
    reported_instructions_ = instructions_;
    ++totals_.samples;
    totals_.damaged_samples += reader_.damaged();
}

void SampleCollector::add_to(ValueTotals& values) {
    std::lock_guard lock(mutex_);
    fold();
    reader_.hand_on_values();
    values.add(bank_);
}

void SampleCollector::empty_graph() {
    fold();
    const auto pending = follower_.pending();
    const auto node = graph_.clear(follower_.node());
    follower_.forget();
    follower_.start(node, pending);
    std::lock_guard lock(totals_.mutex);
    ++totals_.graphs_emptied;
}

void SampleCollector::fold() {
    follower_.flush();
    std::lock_guard lock(totals_.mutex);
    graph_.fold_into(totals_.flow);
    totals_.flow.add_instructions(instructions_ - reported_instructions_);
    reported_instructions_ = instructions_;
}

}  // namespace shadowprof
