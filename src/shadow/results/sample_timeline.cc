#include "shadow/results/sample_timeline.h"

#include <algorithm>
#include <string>

namespace shadowprof {
namespace {

constexpr std::string_view sample_kind_names[] = {"shadow", "live"};

// The names of the threads in a profile, by process and thread.
using ThreadNames = std::map<std::pair<std::int64_t, std::int64_t>, std::string>;

ThreadNames names_of(const std::vector<ThreadProfile>& threads) {
    ThreadNames names;
    for (const ThreadProfile& thread : threads) names[{thread.pid, thread.tid}] = thread.name;
    return names;
}

}  // namespace

void SampleTimeline::add(const SampleReport& report, std::size_t phase) {
    while (report.number > stride_ * max_timeline_samples) {
        stride_ *= 2;
        std::erase_if(samples_,
                      [&](const Sample& each) { return each.listed.number % stride_ != 0; });
    }
    if (report.number % stride_ != 0) return;
    const auto since = report.stopped_at - start_;
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(since).count();
    samples_.push_back({.listed = {.start_us = us < 0 ? 0 : static_cast<std::uint64_t>(us),
                                   .kind = static_cast<std::uint32_t>(report.kind),
                                   .end = static_cast<std::uint32_t>(report.end),
                                   .phase = static_cast<std::uint32_t>(phase),
                                   .instructions = report.instructions,
                                   .number = report.number},
                        .pid = report.pid,
                        .tid = report.first_thread});
}

void SampleTimeline::fill(Profile& profile) const {
    Timeline& timeline = profile.timeline.emplace();
    timeline.stride = stride_;
    timeline.kinds.assign(std::begin(sample_kind_names), std::end(sample_kind_names));
    timeline.ends.assign(sample_end_names.begin(), sample_end_names.end());
    const auto names = names_of(profile.threads);
    std::map<std::pair<pid_t, pid_t>, std::uint32_t> threads;
    for (const Sample& sample : samples_) {
        const auto next = static_cast<std::uint32_t>(timeline.threads.size());
        const auto [it, added] = threads.try_emplace({sample.pid, sample.tid}, next);
        if (added) {
            const auto name = names.find({sample.pid, sample.tid});
            timeline.threads.push_back({.pid = sample.pid,
                                        .tid = sample.tid,
                                        .name = name == names.end() ? "" : name->second,
                                        .start_us = {},
                                        .end_us = {}});
        }
        timeline.samples.push_back(sample.listed);
        timeline.samples.back().thread = it->second;
    }
    std::ranges::stable_sort(timeline.samples, {}, &TimelineSample::start_us);
}

}  // namespace shadowprof
