#include "shadow/emulation/collecting_listener.h"

#include <algorithm>
#include <utility>

#include "guest_kernel/environment/environment_remote.h"

namespace shadowprof {

void CollectingListener::on_trace(GuestThreads::Index thread, std::span<const std::uint64_t> words,
                                  const BlockTable& table) {
    table_ = table;
    if (!counts(thread)) return;
    if (holds_ && held_.add(thread, words)) return;
    release();
    collect(thread, words);
}

void CollectingListener::on_probe(const ProbeRecord& record) {
    if (record.thread >= GuestThreads::max_threads || !counts(record.thread)) return;
    if (holds_ && held_.add(record)) return;
    release();
    collect(record);
}

void CollectingListener::release() {
    begin(0);
    if (!std::exchange(holds_, false)) return;
    held_.release([this](auto thread, auto words) { collect(thread, words); },
                  [this](const ProbeRecord& record) { collect(record); });
}

void CollectingListener::collect(GuestThreads::Index thread, std::span<const std::uint64_t> words) {
    begin(thread);
    if (!collects_) return;
    const auto batch = collector_.add(thread, words, table_);
    instructions_[thread] += batch.instructions;
    trace_damaged_ |= batch.damaged;
}

void CollectingListener::collect(const ProbeRecord& record) {
    begin(record.thread);
    if (!collects_) return;
    collector_.add_probed(record);
}

void CollectingListener::drop() {
    begin(0);
    holds_ = collects_ = false;
    held_ = {};
}

std::vector<std::byte> CollectingListener::on_request(std::span<const std::byte> request) {
    return answer_environment_request(request, environment_);
}

void CollectingListener::begin(GuestThreads::Index thread) {
    const auto needed = std::max<std::size_t>(thread + 1u, begun_.size());
    begun_.resize(needed);
    instructions_.resize(needed);
    for (const GuestThreads::Index each : {GuestThreads::Index{0}, thread}) {
        if (begun_[each]) continue;
        begun_[each] = true;
        collects_ = begin_(each) && collects_;
    }
}

}  // namespace shadowprof
