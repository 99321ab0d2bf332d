#include "shadow/exact/exact_trace.h"

#include <utility>

#include "profile/statistics/random.h"

namespace shadowprof {
namespace {

CountedRegions::Thread how_of(bool goes_on) {
    return goes_on ? CountedRegions::Thread::goes_on : CountedRegions::Thread::is_new;
}

}  // namespace

ExactTrace::ExactTrace(SampleCollector& collector, ModuleTable& modules, PartTaker& parts,
                       const RunOptions& options, std::uint64_t seed)
    : collector_(collector),
      parts_(parts),
      regions_(collector, parts, options),
      modules_(modules),
      bursts_(options.bursts ? std::optional(options.bursts->plan) : std::nullopt),
      seed_(seed) {
    begin_process({});
}

void ExactTrace::begin_process(std::optional<CodeView> view) {
    view_ = std::move(view);
    ids_.clear();
    regions_.begin_process();
    resolver_.emplace(map_, modules_, view_ ? &*view_ : nullptr);
}

void ExactTrace::set_layout(MemoryMap map) {
    map_ = std::move(map);
    resolver_->begin_map();
}

void ExactTrace::begin_program() {
    regions_.begin_program();
}

void ExactTrace::restart(pid_t id, std::vector<GuestAddress> stack) {
    end_part();
    const bool goes_on = !ids_.empty() && ids_.front() == id;
    ids_ = {id};
    collector_.begin({.resolver = *resolver_,
                      .stack = stack,
                      .bursts = bursts_ ? &*bursts_ : nullptr,
                      .seed = mix64(seed_ + counts_.parts)});
    ++counts_.parts;
    open_ = true;
    regions_.begin_thread(0, how_of(goes_on));
}

void ExactTrace::begin_thread(GuestThreads::Index index, pid_t id,
                              std::vector<GuestAddress> stack) {
    if (index >= ids_.size()) ids_.resize(index + 1);
    const bool goes_on = std::exchange(ids_[index], id) == id;
    if (!open_) return;
    collector_.begin_thread(index, stack);
    regions_.begin_thread(index, how_of(goes_on));
}

void ExactTrace::use(GuestThreads::Index thread, std::span<const std::uint64_t> words,
                     const BlockTable& table) {
    if (!open_) return;
    const auto batch = collector_.add(thread, words, table);
    instructions_ += batch.instructions;
    parts_.count(batch.instructions);
    if (thread < ids_.size()) counts_.by_thread[ids_[thread]] += batch.instructions;
    counts_.is_damaged |= batch.damaged;
}

void ExactTrace::use(const ProbeRecord& record) {
    if (open_ && !regions_.take(record)) collector_.add_probed(record);
}

void ExactTrace::new_emulator() {
    end_part();
    collector_.new_emulator();
    regions_.lose_calls();
}

void ExactTrace::end_part() {
    if (open_) collector_.end();
    open_ = false;
}

ExactTrace::Counts ExactTrace::end() {
    end_part();
    counts_.instructions = instructions_.exchange(0);
    counts_.regions = regions_.found();
    return std::exchange(counts_, {});
}

}  // namespace shadowprof
