// How the sampler takes a sample.
#include <fcntl.h>
#include <sched.h>

#include <algorithm>

#include "base/clock.h"
#include "ptrace/proc.h"
#include "ptrace/process_memory.h"
#include "shadow/sample_threads.h"
#include "shadow/sampler.h"
#include "shadow/value_bursts.h"

namespace shadowprof {
namespace {

// A target that was idle so often is looked at before it is stopped, and left alone while it
// sleeps. One that sleeps now and then is not: threads that run for shorter than a stop takes would
// be sampled too seldom.
constexpr unsigned most_idle_stops = 8;
// So often in a row a sample waits for threads that are in the vDSO.
constexpr int most_vdso_meetings = 4;
// So often the target may change its mappings just before a stop.
constexpr int most_unforked_changes = 4;

// Programs are stopped where they are slow. Samples begin to count so much later that this place is
// no more likely than those around it (value-sampling, "bias"): anywhere in many times what a slow
// instruction's surroundings execute, at the price of a few percent of the emulation. A burst may
// come to an end after few instructions.
constexpr std::uint64_t mean_skip_range = 16'384;
constexpr std::uint64_t least_skip_range = 256;
constexpr std::uint64_t samples_per_skip_range = 16;

std::uint64_t skip_range(SampleKind kind, std::uint64_t sample_size, double yield) {
    if (kind == SampleKind::shadow)
        return std::max(mean_skip_range, sample_size / samples_per_skip_range);
    const auto part = static_cast<std::uint64_t>(yield) / samples_per_skip_range;
    return std::clamp(part, least_skip_range, mean_skip_range);
}

// Beyond it, sums of weighted counts could overflow.
constexpr std::uint64_t most_sample_weight = 100'000'000;

// How many threads of a process can execute at the same time.
unsigned processors_of(pid_t pid) {
    cpu_set_t set;
    return sched_getaffinity(pid, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set))
                                                         : 1;
}

}  // namespace

void Sampler::try_sample() {
    const auto now = Clock::now();
    auto* runner = idle_runner();
    if (runner && !runner->try_hold()) return schedule_.soon(now);
    if (!runner)
        return options_.mode == SamplingMode::burst ? schedule_.soon(now) : schedule_.on_miss(now);
    sample_now(*runner, now);
    if (runner->is_idle()) runner->let_go();
}

void Sampler::sample_now(SampleRunner& runner, Clock::time_point now) {
    auto* process = processes_->choose(random_, now);
    if (budget_)
        budget_->pass(now, costs_.total_seconds(), static_cast<double>(processes_->running()));
    if (!process) {
        note_idle(nullptr);
        return schedule_next(now, nullptr);
    }
    settle(*process, now);
    keep_off_processors_of(*process);
    if (is_latency_due(*process)) return take_latency_burst(*process, now);
    latency_had_turn_ = false;
    const auto kind = choose_kind(*process);
    if (const auto until = too_dear_until(*process, kind, now))
        return schedule_.postpone(now, *until);
    const auto number = process->number;
    const auto taken = take_sample(*process, runner, kind);
    if (!taken) {
        note_refusal(taken.error());
        return schedule_.on_refusal(Clock::now());
    }
    if (*taken == Taken::later) return schedule_.soon(Clock::now());
    schedule_next(Clock::now(), processes_->find(number));
}

Result<Sampler::Taken> Sampler::take_sample(SampledProcess& process, SampleRunner& runner,
                                            SampleKind kind) {
    Target& target = *process.target;
    if (process.idle_in_a_row >= most_idle_stops && target.is_asleep()) return note_idle(&process);
    bool is_shadow = kind == SampleKind::shadow;
    if (is_shadow) {
        TRY_ASSIGN(is_shadow, policy_.wants_shadow(target, process.fork_history, active_.size()));
    }
    if (is_shadow && process.has_unforked && !read_unforked(process)) return Taken::later;
    if (!is_shadow) return take_burst(process, runner);
    auto job = new_job(process, SampleKind::shadow);
    std::optional<Replica> replica;
    std::optional<InputRecorder::Lease> input;
    bool later = false;
    std::optional<BurstInStop> burst;
    target.prepare_fork_server();
    {
        TRY_ASSIGN(auto stop, target.stop(Target::Sleepers::leave_alone));
        if (!stop.in_group_stop()) job.threads = choose_threads(stop, options_.threads, random_);
        later =
            (process.has_unforked && !check_unforked(process)) || !leave_vdso(process, job.threads);
        if (!job.threads.empty() && !later) {
            using Flags = CapturedProcess::Flags;
            const auto tids = tids_of(job.threads);
            TRY_ASSIGN(
                job.captured,
                CapturedProcess::take(
                    target.pid(), tids,
                    options_.record_input ? Flags::of_all : Flags::of_files_and_standard_streams));
            TRY(try_fork(stop, process, replica));
            if (replica && options_.record_input) input.emplace(recorder_.record(tids));
            if (!replica) burst = burst_in(stop, runner, std::move(job));
        }
    }
    const auto pause = target.last_pause();
    costs_.add_pause(to_ns(pause));
    if (later) return Taken::later;
    if (burst) return finish_burst(process, runner, *burst);
    if (!replica) return note_idle(&process);
    replica->offer_to_oom_killer();
    process.idle_in_a_row = 0;
    note_pause(process, SampleKind::shadow, pause);
    has_looked_ = has_prepared_ = true;
    // Only what has no replica was moved from.
    job.replica = replica->pid();  // NOLINT(bugprone-use-after-move)
    job.memory_fd = replica->memory_fd();
    if (input) job.input = input->recording();
    job.limits = limits(job.skip_instructions + options_.sample_size, target);
    job.is_whole = process.has_unforked;
    active_.push_back(
        {std::move(*replica), Clock::now(), &runner, process.number, std::move(input)});
    processes_->log().begin_sample(process.number);
    ++started_;
    runner.begin(std::move(job));
    return Taken::yes;
}

// Leaves `replica` empty where a burst is to take its place.
Result<void> Sampler::try_fork(ScopedStop& stop, SampledProcess& process,
                               std::optional<Replica>& replica) {
    const auto start = Clock::now();
    auto forked = Replica::fork(stop, process.unforked.ranges);
    if (!forked) {
        if (policy_.may_burst_instead(forked.error(), process.fork_history)) return {};
        return std::move(forked).error();
    }
    replica.emplace(*std::move(forked));
    policy_.count_shadow();
    costs_.add_fork(to_ns(Clock::now() - start));
    return {};
}

SampleJob Sampler::new_job(const SampledProcess& process, SampleKind kind) {
    SampleJob job;
    job.process = process.number;
    job.seed = random_();
    job.follows_new_threads = options_.threads == ThreadScope::all;
    job.bursts = burst_plan();
    job.skip_instructions =
        random_() % skip_range(kind, options_.sample_size, process.kinds.expected_yield(kind));
    // It is one of several that could have been chosen.
    job.weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        std::uint64_t{schedule_.weight()} * processes_->running(), most_sample_weight));
    return job;
}

std::optional<BurstPlan> Sampler::burst_plan() const {
    return settings_.bursts() ? std::optional(settings_.bursts()->plan) : std::nullopt;
}

RunLimits Sampler::limits(std::uint64_t instructions, const Target& target) {
    RunLimits limits{
        .instructions = instructions, .processors = processors_of(target.pid()), .seed = random_()};
    if (const auto& bursts = settings_.bursts()) {
        limits.value_events = bursts->value_length;
        limits.reference_events = bursts->reference_length;
        limits.events_between = bursts->plan.every;
        limits.events = bursts->plan.events;
    } else {
        limits.burst_period = value_burst_period;
        if (options_.profiles.values) limits.value_instructions = value_burst_instructions;
        if (options_.profiles.references())
            limits.reference_instructions = options_.profiles.streams
                                                ? stream_burst_instructions
                                                : reference_burst_instructions;
    }
    return limits;
}

// Null: of the whole tree.
Sampler::Taken Sampler::note_idle(SampledProcess* process) {
    if (process) ++process->idle_in_a_row;
    ++stats_.samples;
    ++stats_.ended[std::string(name(SampleEnd::idle))];
    return Taken::idle;
}

void Sampler::find_vdso(SampledProcess& process) {
    const Target& target = *process.target;
    if (process.vdso && process.vdso_exec_count == target.exec_count()) return;
    const auto map = read_memory_map(target.live_thread_id());
    if (!map) return;
    process.vdso_exec_count = target.exec_count();
    for (const auto& mapping : map->mappings())
        if (mapping.name == "[vdso]") process.vdso = mapping;
}

bool Sampler::is_in_vdso(SampledProcess& process, GuestAddress pc) {
    find_vdso(process);
    return process.vdso && process.vdso->contains(pc);
}

// Threads in the vDSO cannot be emulated. False: it is better to wait until they have left it;
// those who are always there are left out after a while.
bool Sampler::leave_vdso(SampledProcess& process, std::vector<SampleThread>& threads) {
    const auto in_vdso = [&](const SampleThread& thread) {
        return thread.runs && is_in_vdso(process, thread.cpu.rip);
    };
    if (std::ranges::none_of(threads, in_vdso)) {
        process.vdso_meetings = 0;
        return true;
    }
    if (++process.vdso_meetings < most_vdso_meetings || in_vdso(threads.front())) return false;
    std::erase_if(threads, in_vdso);
    return true;
}

// A sample may want what a fork has left out.
void Sampler::look_for_unforked(const SampleReport& report) {
    auto* process = processes_->find(report.process);
    if (!process || process->has_unforked) return;
    process->has_unforked = report.wiped;
    if (!report.missing) return;
    const auto map = read_memory_map(process->target->pid());
    process->has_unforked = process->has_unforked || (map && map->find(*report.missing));
}

// False: it changes its mappings just now.
bool Sampler::read_unforked(SampledProcess& process) {
    const pid_t pid = process.target->pid();
    const auto maps = read_maps_text(pid);
    if (maps && *maps == process.unforked.maps_text) return true;
    auto memory = UnforkedMemory::read(pid);
    if (!memory) return memory.error().code != ErrorCode::interrupted;
    process.unforked = std::move(*memory);
    return true;
}

// In a stop. One that is longer, for reading it again, is the last resort.
bool Sampler::check_unforked(SampledProcess& process) {
    const pid_t thread = process.target->live_thread_id();
    const auto maps = read_maps_text(thread);
    if (maps && *maps == process.unforked.maps_text) {
        process.unforked_changes = 0;
        return true;
    }
    if (++process.unforked_changes < most_unforked_changes) return false;
    auto memory = UnforkedMemory::read(thread);
    if (!memory) return false;
    process.unforked = std::move(*memory);
    return true;
}

}  // namespace shadowprof
