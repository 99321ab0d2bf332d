#include "shadow/sampler/live_samples.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include <algorithm>
#include <thread>

#include "base/urgency.h"
#include "ptrace/proc/proc.h"
#include "ptrace/thread/process_memory.h"
#include "shadow/program/sample_threads.h"
#include "shadow/window/preparation.h"

namespace shadowprof {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t max_instructions = 200'000;
// Several threads take turns of about this many instructions. The turns are short because the time
// limit may cut a sample, of which each thread should have an equal part.
constexpr std::uint64_t mean_turn = 5'000;
// The end of a window is sought among this many times max_instructions.
constexpr std::uint64_t max_window_sizes = 16;
constexpr milliseconds longest_window{1};
// When a stop for the window's end is given up.
constexpr microseconds longest_window_stop{500};
// An induced fault costs nothing, as there is no fork.
constexpr double nothing_forked = 0;
// How long to wait until the places of probes are asked for again.
constexpr milliseconds place_search{5};
// How long code is translated ahead, before the first sample, and at most after each.
constexpr milliseconds first_preparation{20};
constexpr milliseconds later_preparation{10};
// Translating ahead takes at most this many times as long as translation in the last sample's stop:
// code that is not translated by then is hardly executed.
constexpr int preparation_for_translation = 4;
// How long a sample that its time limit cut is emulated further, to prepare the next one.
constexpr milliseconds rehearsal{10};
// How long a stop waits for the first thread if it is given no processor. Statuses of other
// processes wait as long.
constexpr milliseconds processor_wait{20};
// How long it takes to let the target go, in all and for each thread, and to read what is known of
// a thread.
constexpr microseconds resume_time{20};
constexpr microseconds resume_time_of_thread{4};
constexpr microseconds read_time_of_thread{10};

// Wakes the calling thread up on time, and not up to 50 microseconds later.
class PunctualWaits {
  public:
    PunctualWaits() { prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0); }
    ~PunctualWaits() { prctl(PR_SET_TIMERSLACK, 0UL, 0, 0, 0); }
    PunctualWaits(const PunctualWaits&) = delete;
    PunctualWaits& operator=(const PunctualWaits&) = delete;
};

Error too_slow() {
    return {
        ErrorCode::interrupted, 0,
        "registers and memory mappings could not be read in the time that a live sample may take"};
}

}  // namespace

LiveSamples::LiveSamples(const RunOptions& options, SampleDesign& design, SamplingCosts& costs,
                         ShadowPolicy& policy, const ProbeRequest* probes)
    : options_(options),
      design_(design),
      costs_(costs),
      policy_(policy),
      probes_(probes),
      limit_(options.live_timing ? options.live_timing->longest_stop : default_stop_limit) {}

// Called before the stop.

Result<LiveSamples::Planned> LiveSamples::plan_steps(SampledProcess& process, SampleOrder order) {
    TRY_ASSIGN(auto job, plan_job(process, order.share));
    if (probes_ && job.map) {
        TRY_ASSIGN(const bool prepared, order.runner.prepare_probes(*job.map));
        if (!prepared)
            return Planned(SampleTaken{.kind = SampleTaken::Kind::later,
                                       .not_before = Clock::now() + place_search});
    }
    process.vdso.find(*process.target);
    return Planned(LivePlan{std::move(order.runner), std::move(job)});
}

Result<SampleJob> LiveSamples::plan_job(SampledProcess& process, const SampleShare& share) {
    auto job = design_.job(process, SampleKind::live, share);
    LiveSnapshot live{.thread = process.target->live_thread_id()};
    TRY_ASSIGN(live.memory, open_process_memory(live.thread, O_RDONLY));
    if (!process.maps_changed) {
        TRY_ASSIGN(job.maps_text, read_maps_text(live.thread));
        TRY_ASSIGN(job.map, MemoryMap::parse(job.maps_text));
    }
    job.snapshot = std::move(live);
    return job;
}

// Makes the stop.

LiveShot LiveSamples::take(SampledProcess& process, LivePlan plan) {
    bool was_stopped = false;
    auto taken = take_in_time(process, plan, was_stopped);
    if (taken) return std::move(*taken);
    return {.was_stopped = was_stopped || taken.error().code == ErrorCode::interrupted,
            .refusal = std::move(taken).error()};
}

// Error `interrupted`: there was too little time.
Result<LiveShot> LiveSamples::take_in_time(SampledProcess& process, LivePlan& plan,
                                           bool& was_stopped) {
    Target& target = *process.target;
    const RunsBeforeStop before(target);
    if (waits_for_us(process, before)) return LiveShot{.was_stopped = false, .later = true};
    TRY_ASSIGN(auto stop,
               target.stop(Target::Sleepers::leave_rarely_woken,
                           live_stop_limits(usable_time(target.thread_count()), processor_wait)));
    was_stopped = true;
    if (const auto moment = another_moment(target, design_.random()))
        return LiveShot{.later = true, .not_before = *moment};
    const auto reading = read_time_of_thread * static_cast<int>(stop.threads().size());
    if (Clock::now() + reading > target.stop_began() + usable_time(stop.threads().size()))
        return too_slow();
    auto& threads = plan.job.threads;
    if (!stop.in_group_stop())
        threads = choose_threads(stop, options_.threads, design_.random(), before);
    const bool later = !process.vdso.leave_out(target, threads);
    if (threads.empty() || later) return LiveShot{.later = later};
    if (options_.translate_ahead && !has_observed_ && plan.job.map)
        return observe_threads(stop, plan);
    TRY_ASSIGN(plan.job.captured, CapturedProcess::take(target.pid(), tids_of(threads),
                                                        CapturedProcess::Flags::none_but_clocks));
    design_.expect(plan.job, process);
    return take_in(stop, process, std::move(plan.runner), std::move(plan.job));
}

// How long after the begin of its stop the target must be let go.
std::chrono::nanoseconds LiveSamples::usable_time(std::size_t threads) const {
    const std::chrono::nanoseconds resuming =
        resume_time + resume_time_of_thread * static_cast<int>(threads);
    return std::max(limit_ - resuming, limit_ / 2);
}

// Notes where the threads are, so that code can be translated before the first sample.
LiveShot LiveSamples::observe_threads(ScopedStop& stop, LivePlan& plan) {
    has_observed_ = true;
    std::get<LiveSnapshot>(plan.job.snapshot).until = stop.target().stop_began() + limit_;
    plan.job.limits = design_.limits(0, stop.target());
    plan.runner.observe(std::move(plan.job));
    return {.runner = std::move(plan.runner), .observed = true, .later = true};
}

LiveShot LiveSamples::take_in(ScopedStop& stop, SampledProcess& process, SampleRunner::Lease runner,
                              SampleJob job) {
    const auto until = stop.target().stop_began() + usable_time(stop.threads().size());
    const bool is_planned = !job.maps_text.empty();
    auto completed = complete(stop, std::move(job), until);
    if (!completed) return {.refusal = std::move(completed).error()};
    completed->may_have_window = wants_window(process, *completed);
    // A rehearsal takes a processor, so it needs one that nobody waits for.
    if (options_.translate_ahead && !process.theft.is_contended()) completed->rehearsal = rehearsal;
    if (completed->may_have_window && completed->threads.size() > 1) completed->lead_with_first();
    const pid_t thread = completed->pid();
    const Urgency urgent_worker(runner.worker_pid());
    auto run = std::move(runner).begin_live(*this, std::move(*completed));
    LiveShot shot;
    if (is_planned) {
        // The mappings are checked while the worker starts.
        auto now = read_maps_text(thread, until);
        shot.valid = now && *now == run.job().maps_text;
        if (!shot.valid && now) shot.maps_now = std::move(*now);
    }
    if (shot.valid && run.job().may_have_window) {
        shot.window = begin_window(process, run);
        // A window is short, so nothing should come between the stop and its end.
        shot.urgency = stop.target().urgency();
    }
    const PunctualWaits punctual;
    shot.cut = shot.valid && !run.follow();
    shot.run.emplace(std::move(run));
    return shot;
}

// If the user sets the times of stops, no others are made. If samples have a size, all threads
// count, and it does not matter how fast code is.
bool LiveSamples::wants_window(SampledProcess& process, const SampleJob& job) const {
    if (options_.live_timing || process.target->has_late()) return false;
    if (!options_.sample_time && job.threads.size() != 1) return false;
    const auto pc = job.threads[0].cpu.rip;
    // With a window, only the first of several threads counts. So whether there is one must not
    // depend on the code that this thread is in.
    const bool wants_speed =
        options_.sample_time && job.threads.size() == 1 && process.speeds.wants_guess(pc);
    if (!process.live_windows.wants_one(wants_speed)) return false;
    process.speeds.note_rough_trial(pc);
    return true;
}

std::optional<WindowWatch> LiveSamples::begin_window(SampledProcess& process,
                                                     const SampleRunner::LiveRun& run) {
    const auto& thread = run.job().threads[0];
    const WindowLimits limits{
        .length = process.live_windows.length(),
        .longest = longest_window,
        .max_instructions_per_second = process.speeds.max_instructions_per_second(),
        .max_instructions = max_window_sizes * max_instructions,
        .stop_seconds = process.live_windows.stop_seconds(),
        .max_retries = 0,
        .stop = live_stop_limits(longest_window_stop, longest_window_stop),
        .has_other_threads = process.target->thread_count() > 1};
    auto watch = WindowWatch::begin(process.target->pid(), thread.tid, thread.cpu, limits,
                                    nothing_forked, {}, room_);
    return watch ? std::optional(*std::move(watch)) : std::nullopt;
}

// Reads what the plan does not have.
Result<SampleJob> LiveSamples::complete(ScopedStop& stop, SampleJob job, Clock::time_point until) {
    auto live = job.live() ? std::move(std::get<LiveSnapshot>(job.snapshot)) : LiveSnapshot{};
    live.thread = stop.target().live_thread_id();
    live.until = until;
    if (job.maps_text.empty()) {
        TRY_ASSIGN(job.maps_text, read_maps_text(live.thread, until));
        TRY_ASSIGN(live.memory, open_process_memory(live.thread, O_RDONLY));
    }
    if (Clock::now() >= until) return too_slow();
    job.snapshot = std::move(live);
    const auto size = options_.sample_size_is_asked_for ? options_.sample_size : max_instructions;
    job.limits = design_.limits(job.skip_instructions + size, stop.target());
    job.limits.defers_superblocks = true;
    job.limits.mean_turn = mean_turn;
    return job;
}

// Called after the stop.

Result<SampleTaken> LiveSamples::settle(SampledProcess& process, LiveShot shot) {
    if (shot.was_stopped) costs_.add_limited_pause(process.target->last_pause(), limit_);
    return finish(process, std::move(shot));
}

Result<SampleTaken> LiveSamples::finish(SampledProcess& process, LiveShot shot) {
    if (shot.refusal) return *std::move(shot.refusal);
    if (shot.observed) {
        costs_.on_observed(process);
        std::move(*shot.runner).prepare(first_preparation);
        return SampleTaken{.kind = SampleTaken::Kind::later,
                           .not_before = Clock::now() + first_preparation};
    }
    if (!shot.run)
        return SampleTaken{.kind = shot.later ? SampleTaken::Kind::later : SampleTaken::Kind::idle,
                           .not_before = shot.not_before};
    if (shot.cut) costs_.live_samples().add_cut();
    process.maps_changed = !shot.valid;
    if (!shot.valid) {
        std::move(*shot.run).discard(shot.maps_now);
        costs_.live_samples().add_discarded();
        return SampleTaken{.kind = SampleTaken::Kind::later, .is_discarded = true};
    }
    auto pause = process.target->last_pause();
    pause += find_end(process, shot);
    std::move(*shot.run).end();
    policy_.count_live_sample();
    costs_.on_sample(process, SampleKind::live, pause);
    return SampleTaken{};
}

// The program executes what was emulated, and is stopped again for a moment amid that. Returns the
// length of that stop.
std::chrono::nanoseconds LiveSamples::find_end(SampledProcess& process, LiveShot& shot) {
    auto recorded = shot.window ? shot.run->recorded_pages() : std::nullopt;
    if (!recorded) return {};
    auto& watch = *shot.window;
    const PunctualWaits punctual;
    watch.start(Clock::now(), without_other_stacks(*std::move(recorded), shot.run->job().threads));
    const auto execs = process.target->exec_count();
    std::this_thread::sleep_until(watch.next_observation());
    const auto pause = watch.observe(*process.target, Clock::now()).pause;
    if (pause) costs_.add_pause(*pause);
    auto window = watch.take();
    if (window && process.target->exec_count() == execs) shot.run->set_window(*window);
    return pause.value_or(std::chrono::nanoseconds{});
}

// Called while the emulation goes on.

void LiveSamples::on_step(SampleRunner& runner) {
    runner.answer_step(runner.step().cpu, SampleEnd::unsupported_instruction);
}

std::chrono::nanoseconds LiveSamples::on_finished(SampleRunner&, const SampleReport& report,
                                                  SampledProcess* process) {
    if (report.is_void) return {};
    if (process) note_window(*process, report);
    costs_.live_samples().add_emulation(report.counters.emulation_ns,
                                        report.counters.translation_ns);
    costs_.live_samples().add_rehearsal(report.rehearsed.instructions,
                                        report.rehearsed.nanoseconds);
    if (!options_.translate_ahead) return {};
    // One slice makes the superblocks that were deferred in the stop.
    return std::clamp<std::chrono::nanoseconds>(
        preparation_for_translation * std::chrono::nanoseconds(report.counters.translation_ns),
        Preparation::slice, later_preparation);
}

void LiveSamples::note_window(SampledProcess& process, const SampleReport& report) {
    process.live_windows.observe(report);
    if (report.window == WindowEnd::met && report.of_window->seconds)
        process.speeds.add_rough(report.began_at, report.window_instructions,
                                 *report.of_window->seconds);
}

}  // namespace shadowprof
