#include "shadow/budget/processor_theft.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// Looking at more threads would cost more than it tells.
constexpr std::size_t max_threads = 256;
// The weight that earlier observations keep at each new one.
constexpr double remembered = 0.75;
// How long what is usual holds, and from how much quiet time it is known.
constexpr double usual_for_ns = 2e9, min_quiet_ns = 50e6;
// If a stretch had less waiting than usual, some waiting in the next one is excused: at most this
// many times what may have been for us.
constexpr double max_spared = 2;
// The weight that older stretches keep when another one is compared with what is usual. The
// proportion is known from this much of our time.
constexpr double compared_remembered = 0.9;
constexpr double min_compared_ns = 5e6;
// It also fades with time, as a machine may become busy.
constexpr double compared_for_ns = 10e9;

}  // namespace

Result<void> RunTimes::add(std::string_view text) {
    std::uint64_t numbers[2] = {};
    for (auto& number : numbers) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc{})
            return Error{ErrorCode::invalid, 0,
                         "/proc/PID/task/TID/schedstat has an unexpected format"};
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    }
    run_ns += numbers[0];
    delay_ns += numbers[1];
    return {};
}

Result<RunTimes> read_run_times(pid_t pid) {
    TRY_ASSIGN(auto tids, read_thread_ids(pid));
    tids.resize(std::min(tids.size(), max_threads));
    RunTimes times;
    std::size_t counted = 0;
    for (const pid_t tid : tids) {
        const auto text = read_proc_text(fmt::format("/proc/{}/task/{}/schedstat", pid, tid));
        if (!text) continue;  // it has ended meanwhile
        TRY(times.add(*text));
        ++counted;
    }
    if (counted == 0)
        return Error{ErrorCode::unsupported, 0, "/proc/PID/task/TID/schedstat cannot be read"};
    return times;
}

ProcessorTheft::Stretch ProcessorTheft::since_last(const Observation& before,
                                                   const Observation& now) const {
    const auto since = [](std::uint64_t after, std::uint64_t earlier) {
        return static_cast<double>(after - std::min(after, earlier));  // less if threads ended
    };
    const double ours_ns = since(now.ours_ns, before.ours_ns);
    const double stopped_ns = since(now.stopped_ns, before.stopped_ns);
    const std::chrono::duration<double, std::nano> passed = now.time - before.time;
    return {.passed_ns = passed.count(),
            .run_ns = since(now.times.run_ns, before.times.run_ns),
            .delay_ns = since(now.times.delay_ns, before.times.delay_ns),
            .beside_ns = std::max(ours_ns - stopped_ns, 0.0)};
}

void ProcessorTheft::forget(const Stretch& stretch) {
    const double left = std::exp(-stretch.passed_ns / usual_for_ns);
    quiet_ns_ *= left;
    quiet_delay_ns_ *= left;
    const double compared_left = std::exp(-stretch.passed_ns / compared_for_ns);
    compared_ns_ *= compared_left;
    taken_of_compared_ns_ *= compared_left;
}

void ProcessorTheft::learn(const Stretch& quiet, double taken_ns) {
    quiet_ns_ += quiet.passed_ns;
    quiet_delay_ns_ += quiet.delay_ns - taken_ns;
}

double ProcessorTheft::taken_in_quiet_ns(const Stretch& quiet) const {
    if (compared_ns_ < min_compared_ns) return quiet.max_ns();
    return std::min(quiet.max_ns(), quiet.beside_ns * taken_of_compared_ns_ / compared_ns_);
}

double ProcessorTheft::taken_ns(const Stretch& stretch) {
    if (stretch.is_quiet()) return taken_in_quiet_ns(stretch);
    if (quiet_ns_ < min_quiet_ns) return stretch.max_ns();
    const double usual_ns = quiet_delay_ns_ / quiet_ns_ * stretch.passed_ns;
    const double beyond_ns = stretch.delay_ns - usual_ns - spared_ns_;
    const double taken_ns = std::clamp(beyond_ns, 0.0, stretch.max_ns());
    spared_ns_ = remembered * std::clamp(-beyond_ns, 0.0, max_spared * stretch.max_ns());
    compared_ns_ = compared_remembered * compared_ns_ + stretch.beside_ns;
    taken_of_compared_ns_ = compared_remembered * taken_of_compared_ns_ + taken_ns;
    return taken_ns;
}

double ProcessorTheft::observe(Clock::time_point now, const RunTimes& times, std::uint64_t ours_ns,
                               std::uint64_t stopped_ns) {
    const Observation observation{now, times, ours_ns, stopped_ns};
    const auto before = std::exchange(last_, observation);
    if (!before || now <= before->time) return 0;
    const Stretch stretch = since_last(*before, observation);
    beside_ns_ = remembered * beside_ns_ + stretch.beside_ns;
    waited_ns_ = remembered * waited_ns_ + stretch.max_ns();
    const double taken = taken_ns(stretch);
    forget(stretch);
    if (stretch.is_quiet()) learn(stretch, taken);
    const auto threads = std::max(1.0, (stretch.run_ns + stretch.delay_ns) / stretch.passed_ns);
    return std::min(taken / threads, stretch.passed_ns) / 1e9;
}

}  // namespace shadowprof
