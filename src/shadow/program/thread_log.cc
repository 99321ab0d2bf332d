#include "shadow/program/thread_log.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace shadowprof {
namespace {

using ThreadIds = std::pair<std::int64_t, std::int64_t>;

void keep_earlier(std::optional<std::uint64_t>& at, const std::optional<std::uint64_t>& other) {
    if (other) at = std::min(at.value_or(*other), *other);
}

void keep_later(std::optional<std::uint64_t>& at, const std::optional<std::uint64_t>& other) {
    if (other) at = std::max(at.value_or(*other), *other);
}

}  // namespace

std::uint64_t ThreadLog::us_until(Clock::time_point at) const {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(at - start_).count();
    return us < 0 ? 0 : static_cast<std::uint64_t>(us);
}

void ThreadLog::add(pid_t pid, std::span<const ThreadLife> lives, Clock::time_point end,
                    const Names& names) {
    for (const ThreadLife& life : lives) {
        if (threads_.size() >= max_timeline_threads) {
            ++left_out_;
            continue;
        }
        const auto name = names.find(life.tid);
        const auto began = us_until(life.began);
        threads_.push_back({.pid = pid,
                            .tid = life.tid,
                            .name = name == names.end() ? std::string() : name->second,
                            .start_us = began,
                            .end_us = std::max(began, us_until(life.ended.value_or(end)))});
    }
}

void ThreadLog::fill(Timeline& timeline) const {
    std::map<ThreadIds, std::size_t> known;
    for (std::size_t i = 0; i < timeline.threads.size(); ++i)
        known.emplace(ThreadIds(timeline.threads[i].pid, timeline.threads[i].tid), i);
    timeline.threads_left_out += left_out_;
    for (const TimelineThread& thread : threads_) {
        const bool has_room = timeline.threads.size() < max_timeline_threads;
        const auto found = known.find({thread.pid, thread.tid});
        if (found == known.end()) {
            if (has_room) {
                known.emplace(ThreadIds(thread.pid, thread.tid), timeline.threads.size());
                timeline.threads.push_back(thread);
            } else {
                ++timeline.threads_left_out;
            }
            continue;
        }
        TimelineThread& listed = timeline.threads[found->second];
        keep_earlier(listed.start_us, thread.start_us);
        keep_later(listed.end_us, thread.end_us);
        if (listed.name.empty()) listed.name = thread.name;
    }
}

}  // namespace shadowprof
