// How the sampler takes a burst: what can be done before the target stands still, or when it goes
// on again, is done there.
#include <fcntl.h>
#include <sys/prctl.h>

#include <algorithm>

#include "base/clock.h"
#include "ptrace/proc.h"
#include "ptrace/process_memory.h"
#include "shadow/sample_threads.h"
#include "shadow/sampler.h"

namespace shadowprof {
namespace {

using std::chrono::microseconds;

constexpr std::uint64_t most_burst_instructions = 200'000;
// How long to wait for the places of probes until they are asked for again.
constexpr std::chrono::milliseconds place_search{5};
// Of translating ahead, before the first burst.
constexpr std::chrono::milliseconds first_preparation{20};
// What it takes to let the target go when its time is over, in all and for each thread, and to read
// what is known of a thread.
constexpr microseconds resume_time{20};
constexpr microseconds resume_time_of_thread{4};
constexpr microseconds look_time_of_thread{10};

// Wakes the calling thread up when it is time, not up to 50 microseconds later.
class PunctualWaits {
  public:
    PunctualWaits() { prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0); }
    ~PunctualWaits() { prctl(PR_SET_TIMERSLACK, 0UL, 0, 0, 0); }
    PunctualWaits(const PunctualWaits&) = delete;
    PunctualWaits& operator=(const PunctualWaits&) = delete;
};

Error too_slow() {
    return {ErrorCode::interrupted, 0,
            "what a burst begins with could not be read within its time"};
}

}  // namespace

// What a burst needs to know of the process, as it is before the stop.
Result<SampleJob> Sampler::plan_burst(SampledProcess& process) {
    const Target& target = *process.target;
    auto job = new_job(process, SampleKind::burst);
    job.replica = target.live_thread_id();
    TRY_ASSIGN(job.own_memory, open_process_memory(job.replica, O_RDONLY));
    if (process.maps_changed) return job;
    TRY_ASSIGN(job.maps_text, read_maps_text(job.replica));
    TRY_ASSIGN(job.map, MemoryMap::parse(job.maps_text));
    return job;
}

// When the target must be let go, in a stop or before it.
std::chrono::nanoseconds Sampler::usable_time(std::size_t threads) const {
    const std::chrono::nanoseconds resuming =
        resume_time + resume_time_of_thread * static_cast<int>(threads);
    return std::max(burst_limit_ - resuming, burst_limit_ / 2);
}

Result<Sampler::Taken> Sampler::take_burst(SampledProcess& process, SampleRunner& runner) {
    Target& target = *process.target;
    TRY_ASSIGN(auto job, plan_burst(process));
    if (probes_ && job.map) {
        TRY_ASSIGN(const bool prepared, runner.prepare_probes(*job.map));
        if (!prepared) {
            not_before_ = Clock::now() + place_search;
            return Taken::later;
        }
    }
    find_vdso(process);
    auto burst = stop_for_burst(process, runner, std::move(job));
    const auto pause = target.last_pause();
    if (burst || burst.error().code == ErrorCode::interrupted) {
        costs_.add_pause(to_ns(pause));
        bursts_.add_stop(pause, burst_limit_);
    }
    if (!burst) return std::move(burst).error();
    if (has_looked_ && !has_prepared_) {
        has_prepared_ = true;
        runner.prepare(first_preparation);
        not_before_ = Clock::now() + first_preparation;
    }
    if (!burst->taken) return burst->later ? Result(Taken::later) : note_idle(&process);
    return finish_burst(process, runner, *burst);
}

// Error `interrupted`: there was too little time.
Result<Sampler::BurstInStop> Sampler::stop_for_burst(SampledProcess& process, SampleRunner& runner,
                                                     SampleJob job) {
    Target& target = *process.target;
    BurstInStop none;
    TRY_ASSIGN(auto stop,
               target.stop(Target::Sleepers::leave_alone, usable_time(target.thread_count())));
    const auto looking = look_time_of_thread * static_cast<int>(stop.threads().size());
    if (Clock::now() + looking > target.stop_began() + usable_time(stop.threads().size()))
        return too_slow();
    if (!stop.in_group_stop()) job.threads = choose_threads(stop, options_.threads, random_);
    none.later = !leave_vdso(process, job.threads);
    if (job.threads.empty() || none.later) return none;
    if (!has_looked_ && job.map) {
        look(stop, runner, std::move(job));
        none.later = true;
        return none;
    }
    TRY_ASSIGN(job.captured, CapturedProcess::take(target.pid(), tids_of(job.threads),
                                                   CapturedProcess::Flags::none_but_clocks));
    return burst_in(stop, runner, std::move(job));
}

// Where the threads are, so that code can be translated before the first burst.
void Sampler::look(ScopedStop& stop, SampleRunner& runner, SampleJob job) {
    has_looked_ = true;
    job.memory_fd = job.own_memory.get();
    job.stopped_until = stop.target().stop_began() + burst_limit_;
    job.limits = limits(0, stop.target());
    runner.look(std::move(job));
}

// The emulation, which may take until the stop has lasted for the limit.
Sampler::BurstInStop Sampler::burst_in(ScopedStop& stop, SampleRunner& runner, SampleJob job) {
    BurstInStop burst{.taken = true};
    const auto until = stop.target().stop_began() + usable_time(stop.threads().size());
    job.replica = stop.target().live_thread_id();
    const bool is_planned = !job.maps_text.empty();
    if (!is_planned) {
        auto text = read_maps_text(job.replica, until);
        auto memory = open_process_memory(job.replica, O_RDONLY);
        if (!text || !memory) {
            burst.refusal = text ? std::move(memory).error() : std::move(text).error();
            return burst;
        }
        job.maps_text = std::move(*text);
        job.own_memory = std::move(*memory);
    }
    if (Clock::now() >= until) {
        burst.refusal = too_slow();
        return burst;
    }
    job.memory_fd = job.own_memory.get();
    const auto size =
        options_.sample_size_is_asked_for ? options_.sample_size : most_burst_instructions;
    job.limits = limits(job.skip_instructions + size, stop.target());
    job.limits.defers_superblocks = true;
    job.stopped_until = until;
    const pid_t thread = job.replica;
    runner.begin_burst(std::move(job));
    if (is_planned) {
        // The worker is on its way already.
        auto now = read_maps_text(thread, until);
        burst.valid = now && *now == runner.burst_maps();
        if (!burst.valid && now) burst.maps_now = std::move(*now);
    }
    const PunctualWaits punctual;
    burst.cut = burst.valid && !runner.follow_burst();
    return burst;
}

// After the stop.
Result<Sampler::Taken> Sampler::finish_burst(SampledProcess& process, SampleRunner& runner,
                                             const BurstInStop& burst) {
    if (burst.refusal) return *burst.refusal;
    if (burst.cut) bursts_.add_cut();
    process.maps_changed = !burst.valid;
    if (!burst.valid) {
        runner.end_void_burst(burst.maps_now);
        bursts_.add_discarded();
        return Taken::later;
    }
    runner.end_burst();
    ++started_;
    policy_.count_burst();
    processes_->log().begin_sample(process.number);
    process.idle_in_a_row = 0;
    note_pause(process, SampleKind::burst, process.target->last_pause());
    return Taken::yes;
}

}  // namespace shadowprof
