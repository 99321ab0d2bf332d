#include "shadow/collecting_listener.h"

#include <algorithm>

#include "guest_kernel/environment_remote.h"

namespace shadowprof {

void CollectingListener::on_trace(GuestThreads::Index thread, std::span<const std::uint64_t> words,
                                  const BlockTable& table) {
    begin(thread);
    if (!collects_) return;
    const auto batch = collector_.add(thread, words, table);
    instructions_[thread] += batch.instructions;
    trace_damaged_ |= batch.damaged;
}

void CollectingListener::on_probe(const ProbeRecord& record) {
    if (record.thread >= GuestThreads::max_threads) return;
    begin(record.thread);
    if (collects_) collector_.add_probed(record);
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
