#include "shadow/schedule/sample_design.h"

#include <sched.h>

#include <algorithm>

#include "shadow/schedule/sample_bursts.h"
#include "shadow/schedule/sample_schedule.h"

namespace shadowprof {
namespace {

// Programs are stopped where they are slow. Samples begin to count a random distance later, so that
// this place is no more likely than those around it (value-sampling, "bias"). The range is many
// times what a slow instruction's surroundings execute, and costs a few percent of the emulation.
// It is shorter for live samples, which may end after few instructions.
constexpr std::uint64_t mean_skip_range = 16'384;
constexpr std::uint64_t min_skip_range = 256;
// Instructions per second. Code that is known to be slower executes next to nothing.
constexpr double min_known_speed = 1e5;

std::uint64_t skip_range(SampleKind kind, std::uint64_t sample_size, double yield) {
    if (kind == SampleKind::shadow)
        return std::max(mean_skip_range, sample_size / samples_per_skip_range);
    const auto part = static_cast<std::uint64_t>(yield) / samples_per_skip_range;
    return std::clamp(part, min_skip_range, mean_skip_range);
}

// How many threads of a process can execute at the same time.
unsigned processors_of(pid_t pid) {
    cpu_set_t set;
    return sched_getaffinity(pid, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set))
                                                         : 1;
}

}  // namespace

SampleJob SampleDesign::job(const SampledProcess& process, SampleKind kind,
                            const SampleShare& share) {
    SampleJob job;
    job.process = process.number;
    job.seed = random_();
    job.follows_new_threads = options_.threads == ThreadScope::all;
    if (const auto bursts = settings_.bursts()) job.bursts = bursts->plan;
    job.skip_instructions =
        random_() % skip_range(kind, options_.sample_size, process.kinds.expected_yield(kind));
    job.scheduled_seconds = static_cast<double>(share.weight) * SampleSchedule::weight_unit.count();
    job.stands_for_seconds = job.scheduled_seconds * static_cast<double>(share.processes);
    return job;
}

void SampleDesign::expect(SampleJob& job, SampledProcess& process) {
    if (job.threads.empty()) return;
    job.number = ++samples_;
    job.stopped_at = process.target->stop_began();
    const auto running = std::ranges::count_if(job.threads, &SampleThread::had_processor);
    job.processors =
        std::clamp<double>(static_cast<double>(running), 1, processors_of(process.target->pid()));
    if (!options_.sample_time) return;
    double sum = 0;
    for (auto& thread : job.threads) {
        thread.relative_speed =
            std::max(process.speeds.instructions_per_second(thread.cpu.rip), min_known_speed);
        sum += thread.relative_speed;
        if (thread.had_processor) process.speeds.note_start(thread.cpu.rip);
    }
    const double mean = sum / static_cast<double>(job.threads.size());
    for (auto& thread : job.threads) thread.relative_speed /= mean;
    job.expected_speed = mean;
    job.speed_is_known = process.speeds.knows(job.threads[0].cpu.rip);
}

RunLimits SampleDesign::limits(std::uint64_t instructions, const Target& target) {
    RunLimits limits{.instructions = instructions,
                     .processors = processors_of(target.pid()),
                     .seed = random_(),
                     .notes_system_calls = settings_.profiles().has<SystemCallList>()};
    if (const auto bursts = settings_.bursts()) {
        limits.value_events = bursts->value_length;
        limits.reference_events = bursts->reference_length;
        limits.events_between_values = bursts->between_values();
        limits.events_between_references = bursts->between_references();
        limits.events = bursts->plan.events;
        return limits;
    }
    limits.burst_period = value_burst_period;
    const ProfileKinds& profiles = settings_.profiles();
    if (profiles.has<ValueList>()) limits.value_instructions = value_burst_instructions;
    if (profiles.has_any_of(reference_kinds))
        limits.reference_instructions =
            profiles.has<StreamList>() ? stream_burst_instructions : reference_burst_instructions;
    return limits;
}

}  // namespace shadowprof
