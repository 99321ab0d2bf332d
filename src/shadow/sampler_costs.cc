// What samples cost the target, and what follows from that.
#include <algorithm>
#include <ctime>
#include <utility>

#include "base/clock.h"
#include "ptrace/proc.h"
#include "shadow/sampler.h"

namespace shadowprof {
namespace {

using std::chrono::duration;

// Of a fork: a pause, and a part that grows with the pages whose tables are copied.
constexpr double fork_seconds = 200e-6;
constexpr double fork_seconds_per_page = 13e-3 / (1 << 18);
// Samples are taken ahead of the budget's time as long as it has room for so many more.
constexpr double samples_ahead = 3;
// With more threads, looking at each would cost more than what it wins.
constexpr std::size_t most_threads_to_look_at = 64;

}  // namespace

std::uint64_t Sampler::own_cpu_ns() const {
    auto sum = static_cast<std::uint64_t>(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    for (const auto& runner : runners_) sum += read_cpu_ns(runner->worker_pid());
    return sum;
}

// What the process has paid since it was looked at last goes to its last sample.
void Sampler::settle(SampledProcess& process, Clock::time_point now) {
    const pid_t pid = process.target->pid();
    count_syscall_stops();
    double seconds = 0;
    if (const auto stat = read_proc_stat(pid)) {
        const auto induced = process.faults.look(now, stat->minor_faults);
        costs_.add_faults(induced);
        seconds += costs_.faults_seconds(induced);
    }
    if (const auto times = read_run_times(pid)) {
        const auto waited = process.theft.look(now, *times, own_cpu_ns());
        costs_.add_theft(waited);
        seconds += waited;
    }
    if (const auto last = std::exchange(process.unsettled, {}))
        process.kinds.on_cost(last->kind, last->pause_seconds + seconds);
    process.kinds.on_pages(read_anonymous_pages(pid).value_or(0));
}

// Where several processes run, or many threads, there is hardly a processor to keep off.
void Sampler::keep_off_processors_of(const SampledProcess& process) {
    cpu_set_t busy;
    CPU_ZERO(&busy);
    const pid_t pid = process.target->pid();
    const auto threads = read_thread_ids(pid);
    if (processes_->running() <= 1 && threads && threads->size() <= most_threads_to_look_at) {
        for (const pid_t tid : *threads)
            if (const auto stat = read_thread_stat(pid, tid);
                stat && stat->state == 'R' && stat->cpu >= 0 && stat->cpu < CPU_SETSIZE)
                CPU_SET(static_cast<std::size_t>(stat->cpu), &busy);
        // It sleeps, and wakes up where it was.
        if (CPU_COUNT(&busy) == 0) return;
    }
    std::vector<pid_t> workers;
    for (const auto& runner : runners_) workers.push_back(runner->worker_pid());
    own_processors_.avoid(busy, workers);
}

void Sampler::note_pause(SampledProcess& process, SampleKind kind, Clock::duration pause) {
    process.unsettled = {kind, duration<double>(pause).count()};
    process.kinds.on_sample(kind);
    if (kind != SampleKind::shadow) return;
    process.faults.on_fork(process.kinds.pages());
}

double Sampler::most_shadow_seconds(const SampledProcess& process) const {
    const auto pages = process.kinds.pages();
    return fork_seconds + fork_seconds_per_page * static_cast<double>(pages) +
           costs_.faults_seconds(pages);
}

SampleKind Sampler::choose_kind(const SampledProcess& process) const {
    if (options_.mode == SamplingMode::burst) return SampleKind::burst;
    // A load is one of replicas, and what is recorded is for them.
    const bool asks_for_shadows = !budget_ || options_.load || options_.record_input;
    if (options_.mode == SamplingMode::shadow || asks_for_shadows) return SampleKind::shadow;
    return process.kinds.choose(most_shadow_seconds(process));
}

std::optional<Sampler::Clock::time_point> Sampler::too_dear_until(const SampledProcess& process,
                                                                  SampleKind kind,
                                                                  Clock::time_point now) const {
    if (!budget_) return std::nullopt;
    const auto cost = process.kinds.expected_cost_seconds(kind);
    const auto when = budget_->when_within(costs_.total_seconds() + cost);
    return when > now ? std::optional(when) : std::nullopt;
}

// `process` is null if it has ended, or if nothing ran.
void Sampler::schedule_next(Clock::time_point now, const SampledProcess* process) {
    SampleSchedule::Outlook outlook{.stretch = processes_->pace()};
    bool ahead = false;
    // What a budget leaves in stretches that are all alike is for those that are not.
    const auto density = budget_ ? phase_detector_.density() : 1;
    outlook.stretch /= density;
    if (process) {
        const auto kind = choose_kind(*process);
        outlook.burst = kind == SampleKind::burst;
        outlook.cost_seconds = with_latency(process->kinds.expected_cost_seconds(kind));
        ahead = budget_ && density >= 1 &&
                budget_->when_within(costs_.total_seconds() +
                                     samples_ahead * outlook.cost_seconds) <= now;
    }
    schedule_.on_sample(now, outlook, ahead);
}

}  // namespace shadowprof
