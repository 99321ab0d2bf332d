#include "shadow/emulation/sample_emulation.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/clock.h"
#include "ptrace/proc/proc.h"
#include "ptrace/replica/unforked_memory.h"
#include "ptrace/thread/process_memory.h"
#include "shadow/emulation/emulation_worker.h"
#include "shadow/schedule/sample_design.h"
#include "shadow/schedule/sample_weight.h"
#include "shadow/window/preparation.h"

namespace shadowprof {
namespace {

using Clock = LiveSnapshot::Clock;

// Looking for memory that forks wipe takes longer the more memory there is, so it is limited to a
// hundredth of the time.
constexpr int wiped_check_share = 100;
constexpr std::chrono::milliseconds min_between_wiped_checks{25};

// A sample of fewer instructions says little of the time that it stands for.
constexpr std::uint64_t fewest_counted = 1000;
// Faults may have taken most of a window. The program is taken to have had at least this share of
// it: otherwise ten instructions could count ten thousand times as often as those of other windows.
constexpr double min_share_of_window = 0.1;

// Returns how much of a sample whose end is known is skipped. If it turned out to be short, most of
// it must be left.
std::uint64_t skip_when_known(const SampleJob& job, std::uint64_t instructions) {
    const auto range = instructions / samples_per_skip_range + 1;
    const bool is_short = job.expected_speed && range < job.skip_instructions;
    return is_short ? job.skip_instructions % range : job.skip_instructions;
}

// Whether threads other than the leading one were emulated, too. Always false if none leads.
bool others_took_part(const RunResult& result) {
    return result.instructions > result.of_lead.instructions;
}

MissReason miss_reason(const RunResult& result) {
    if (result.vdso_calls != 0) return MissReason::asked_time;
    if (result.syscalls != 0) return MissReason::asked_kernel;
    if (others_took_part(result)) return MissReason::other_threads;
    return result.nearly_met ? MissReason::memory : MissReason::registers;
}

SampleRules rules_of(const SampleJob& job) {
    return {.random_seed = job.seed,
            .has_recorded_input = job.replica() && job.replica()->input != nullptr,
            .follows_new_threads = job.follows_new_threads};
}

GuestThreads::Pace pace_of(const SampleThread& thread) {
    const double pace = GuestThreads::usual_pace / thread.relative_speed;
    return static_cast<GuestThreads::Pace>(
        std::clamp<double>(pace, GuestThreads::fastest_pace, GuestThreads::slowest_pace));
}

// See SampleStart::began_at.
std::optional<GuestAddress> began_at(const SampleJob& job) {
    const auto& first = job.threads[0];
    if (first.in_syscall) return std::nullopt;
    return first.cpu.rip;
}

// How many workers are replaced because they have no room for the program's mappings.
constexpr int max_misplaced_workers = 8;

// A sample of a program that touches ever new memory would copy it all. So it ends if it still
// wants memory after this time and that of the slowest emulation. In a virtual machine with slow
// memory 2,600 pages take 150 ms, and twice that beside a load.
constexpr std::chrono::milliseconds longest_fetching{600};
constexpr std::chrono::nanoseconds slowest_instruction{20};

// The steady clock is CLOCK_MONOTONIC.
std::int64_t stands_still_until_ns(const SampleJob& job) {
    const Clock::duration emulation =
        slowest_instruction * std::min(job.limits.instructions, 1ul << 40);
    Clock::time_point until = Clock::now() + longest_fetching + emulation;
    if (job.live()) until = job.live()->until;
    return std::chrono::nanoseconds(until.time_since_epoch()).count();
}

std::uint64_t thread_cpu_ns() {
    return static_cast<std::uint64_t>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

}  // namespace

Result<void> SampleEmulation::start_worker() {
    if (worker_) {
        kill(worker_->pid(), SIGKILL);
        probes_.new_worker();
        collector_.new_emulator();
    }
    TRY_ASSIGN(worker_, start_emulation_worker());
    forget_code_ = false;
    return {};
}

// Called in the stop of a live sample.

void SampleEmulation::begin_live(SampleJob& job) {
    begun_ = begin_worker(job);
    stacks_.begin();
    copy_stack(job, 0);
    if (job.map || !begun_) return;
    auto map = MemoryMap::parse(job.maps_text);
    if (map)
        job.map = std::move(*map);
    else
        begun_ = std::move(map).error();
}

WorkerProcess::Followed SampleEmulation::follow_live(const SampleJob& job,
                                                     Clock::time_point until) {
    using enum WorkerProcess::Followed;
    if (!begun_) return to_the_end_of_emulation;
    const auto followed =
        worker_->follow_sample(until, [&](GuestThreads::Index thread) { copy_stack(job, thread); });
    return followed ? *followed : to_the_end_of_emulation;
}

void SampleEmulation::observe(const SampleJob& job) {
    stacks_.begin();
    for (std::size_t i = 0; i < job.threads.size(); ++i)
        stacks_.copy(job.pid(), i, {job.threads[i].cpu[Gpr::rsp]});
    seen_at_.clear();
}

void SampleEmulation::copy_stack(const SampleJob& job, GuestThreads::Index thread) {
    if (thread < job.threads.size() && Clock::now() < job.live()->until)
        stacks_.copy(job.pid(), thread, {job.threads[thread].cpu[Gpr::rsp]});
}

// Runs any sample, from its begin to its report.

SampleReport SampleEmulation::run(SampleJob& job, EmulationHooks& hooks) {
    SampleReport report;
    report.is_void = job.is_void();
    report.process = job.process;
    report.number = job.number;
    report.stopped_at = job.stopped_at;
    report.first_thread = job.threads[0].tid;
    report.scheduled_seconds = job.scheduled_seconds;
    report.kind = job.kind();
    report.has_recorded_input = job.replica() && job.replica()->input;
    report.pid = job.captured.pid;
    report.began_at = job.threads[0].cpu.rip;
    const auto cpu_before = thread_cpu_ns();
    if (job.replica() && !begin_replica(job)) {
        report.end = SampleEnd::replica_lost;
        return report;
    }
    if (begun_) {
        follow(job, hooks, report);
    } else {
        report.error = begun_.error().message;
        report.replace_worker = true;
    }
    report.collector_cpu_ns = thread_cpu_ns() - cpu_before;
    return report;
}

// Reads the mappings of a replica, and lets the worker begin.
Result<void> SampleEmulation::begin_replica(SampleJob& job) {
    TRY_ASSIGN(job.maps_text, read_maps_text(job.pid()));
    TRY_ASSIGN(job.map, MemoryMap::parse(job.maps_text));
    begun_ = probes_.prepare(*worker_, *job.map);
    if (begun_) begun_ = begin_worker(job);
    return {};
}

Result<void> SampleEmulation::begin_worker(const SampleJob& job) {
    const auto facts = rules_of(job);
    auto request = request_of(job, std::as_bytes(std::span(&facts, 1)));
    using State = GuestThreads::State;
    std::vector<StartThread> more;
    for (const auto& thread : std::span(job.threads).subspan(1))
        more.push_back({.cpu = thread.cpu,
                        .state = thread.runs ? State::runs : State::waits,
                        .pace = pace_of(thread)});
    request.more_threads = more;
    request.stands_still_until_ns = stands_still_until_ns(job);
    request.forget_code = std::exchange(forget_code_, false);
    return worker_->begin_sample(request);
}

// The request for any run of the sample, without what is for the first run alone, as the other
// threads are.
SampleRequest SampleEmulation::request_of(const SampleJob& job,
                                          std::span<const std::byte> facts) const {
    return {.cpu = job.threads[0].cpu,
            .pace = pace_of(job.threads[0]),
            .more_threads = {},
            .awaited = job.window ? &job.window->end : nullptr,
            .limits = job.limits,
            .maps_text = job.maps_text,
            .facts = facts,
            .memory_fd = job.memory_fd(),
            .uses_pages_again = job.live() != nullptr,
            .records_pages = job.may_have_window,
            .stack_limit_bytes = stack_limit_bytes(job.captured.pid),
            .may_be_rehearsed = job.live() != nullptr};
}

std::optional<EarlierPages> SampleEmulation::recorded_pages() const {
    const auto recorded = begun_ ? worker_->recorded_pages() : std::nullopt;
    if (!recorded) return std::nullopt;
    const auto pages = std::make_shared<const RecordedPagesView>(*recorded);
    const auto read = [pages](std::span<const GuestAddress> addresses, std::span<std::byte> to) {
        std::vector<bool> is_read;
        for (std::size_t i = 0; i < addresses.size(); ++i)
            is_read.push_back(
                pages->read(addresses[i], to.subspan(i * page_bytes).first<page_bytes>()));
        return is_read;
    };
    return EarlierPages{.read = read, .has = [pages](auto page) { return pages->has(page); }};
}

void SampleEmulation::follow(SampleJob& job, EmulationHooks& hooks, SampleReport& report) {
    report.wiped = is_wiped(job);
    seen_at_.clear();
    again_.reset();
    const auto view =
        job.process == 0 ? std::nullopt : std::optional(CodeView::of(job.captured.pid));
    MapResolver resolver(*job.map, modules_, view ? &*view : nullptr);
    ProcEnvironment environment(
        std::move(job.captured), job.pid(),
        job.live() ? ProcEnvironment::Frozen::process : ProcEnvironment::Frozen::replica);
    if (job.replica()) environment.use_input(job.replica()->input);
    const bool counts = !report.wiped && !job.is_void();
    const auto begin = [&](GuestThreads::Index thread) {
        return begin_collecting(job, resolver, thread) && counts;
    };
    const auto keep = [&](GuestThreads::Index thread) { keep_stack(job, thread); };
    const CollectingListener::Options options{.holds = job.expected_speed.has_value(),
                                              .first_alone = job.limits.first_leads};
    unwound_.clear();
    std::unique_ptr<CollectingListener> listener;
    if (job.live())
        listener =
            std::make_unique<LiveListener>(collector_, environment, hooks, keep, begin, options);
    else
        listener =
            std::make_unique<ReplicaListener>(collector_, environment, hooks, keep, begin, options);
    expected_instructions_ = job.limits.instructions;
    skip_instructions_ = job.skip_instructions;
    comes_to_nothing_ = job.is_void();
    const auto likely = static_cast<std::uint64_t>(static_cast<double>(job.limits.instructions) *
                                                   (job.limits.first_leads ? 1 : job.processors));
    weight_ = weigh(job, {.of_lead = {likely, likely}, .end = {}, .other_ended_it = false});
    const auto outcome = listen(job, *listener, report);
    report.weight = weight_;
    report.blocks = collector_.block_vector();
    report.trace_damaged = listener->is_trace_damaged();
    for (std::size_t i = 0; i < listener->instructions().size(); ++i) {
        const auto instructions = listener->instructions()[i];
        if (instructions == 0) continue;
        report.threads.push_back({i < job.threads.size() ? job.threads[i].tid : 0, instructions});
        report.instructions += instructions;
    }
    if (outcome) {
        note_window(job, *outcome, report);
        return conclude(job, *outcome, report);
    }
    report.error = outcome.error().message;
    report.replace_worker = true;
}

Result<SampleOutcome> SampleEmulation::listen(const SampleJob& job, CollectingListener& listener,
                                              SampleReport& report) {
    // The worker is under way already, and a replica lives for as long as needed.
    if (job.replica()) {
        keep_stack(job, 0);
        if (!job.expected_speed) listener.release();
    }
    auto outcome = worker_->finish_sample(listener);
    if (outcome) {
        if (job.live() && outcome->result.end == SampleEnd::time) rehearse(job, report);
        if (!report.replace_worker) find_window(job, *outcome, report);
        const auto& result = outcome->result;
        expected_instructions_ = result.of_lead.instructions;
        skip_instructions_ = skip_when_known(job, expected_instructions_);
        weight_ = weigh(job, {.of_lead = result.of_lead,
                              .end = result.end,
                              .other_ended_it = result.other_ended_it});
        const bool is_vain =
            job.needs_window && others_took_part(result) && result.end == SampleEnd::size;
        comes_to_nothing_ |= is_vain && listener.holds();
    }
    comes_to_nothing_ |= listener.is_given_up() && (!outcome || listener.holds());
    if (comes_to_nothing_) listener.drop();
    report.is_void |= comes_to_nothing_;
    listener.release();
    collector_.end();
    return outcome;
}

// Called outside of a stop. Ends the sample in the worker even if there is no time to rehearse.
void SampleEmulation::rehearse(const SampleJob& job, SampleReport& report) {
    const auto time = job.is_void() ? std::chrono::nanoseconds{0} : job.rehearsal;
    const auto rehearsed = worker_->rehearse(time);
    report.replace_worker |= !rehearsed || rehearsed->exhausted != 0;
    if (!rehearsed || rehearsed->nanoseconds == 0) return;
    report.rehearsed = *rehearsed;
    // The process ran meanwhile, so code that it has replaced may have been translated.
    const auto now = read_maps_text(job.pid());
    forget_code_ |= !now || (*now != job.maps_text && has_other_code(job.maps_text, *now));
}

// A live sample's window ends amid what was emulated, which is emulated again to find out where.
void SampleEmulation::find_window(const SampleJob& job, const SampleOutcome& outcome,
                                  SampleReport& report) {
    report.tried_window = job.may_have_window;
    if (!job.live() || !job.window) return;
    // Answers from outside are not given again.
    const auto& result = outcome.result;
    if (result.syscalls != 0 || result.single_stepped != 0 || result.instructions == 0) return;
    const auto facts = rules_of(job);
    auto request = request_of(job, std::as_bytes(std::span(&facts, 1)));
    request.limits.instructions = job.window->max_instructions;
    auto again = worker_->run_again(request);
    if (again) {
        again_ = std::move(*again);
        return;
    }
    report.error = again.error().message;
    report.replace_worker = true;
}

// If the speed of the code is a guess, a live sample's window knows better.
double SampleEmulation::speed_of(const SampleJob& job) const {
    const bool is_measured = again_ && job.window && job.window->time.seconds;
    if (job.speed_is_known || !is_measured) return *job.expected_speed;
    const RunResult& again = again_->result;
    if (again.end != SampleEnd::met || again.instructions == 0) return *job.expected_speed;
    return static_cast<double>(again.instructions) / *job.window->time.seconds;
}

std::uint32_t SampleEmulation::weigh(const SampleJob& job, const Emulated& emulated) const {
    if (!job.expected_speed) return sample_weight(job.stands_for_seconds);
    const auto& end = emulated.end;
    const bool fills_window = job.window && !job.live() && (!end || *end == SampleEnd::met);
    if (fills_window && job.window->time.seconds)
        return sample_weight(job.thread_seconds(), *job.window->time.seconds);
    const auto [instructions, time] = emulated.of_lead;
    auto counted = instructions - std::min(instructions, skip_instructions_);
    // What ended the sample says that the program does something else there, unless it was the
    // time.
    const bool is_cut =
        end && (*end == SampleEnd::time || *end == SampleEnd::met || emulated.other_ended_it);
    if (!is_cut) counted = std::max(counted, fewest_counted);
    const double slowness =
        instructions == 0 ? 1 : static_cast<double>(time) / static_cast<double>(instructions);
    const auto likely = static_cast<double>(counted) * slowness / speed_of(job);
    const auto least = fills_window ? min_share_of_window * job.window->time.passed_seconds : 0.0;
    return sample_weight(job.thread_seconds(), std::max(likely, least));
}

void SampleEmulation::note_window(const SampleJob& job, const SampleOutcome& outcome,
                                  SampleReport& report) const {
    if (!job.window || (job.live() && !again_)) return;
    const auto& result = job.live() ? again_->result : outcome.result;
    report.window_was_empty = result.end == SampleEnd::met && result.instructions == 0;
    if (report.window_was_empty) return;
    switch (result.end) {
        case SampleEnd::met:
            report.window = WindowEnd::met;
            report.of_window = job.window->time;
            report.window_instructions = job.live() ? result.instructions : report.instructions;
            break;
        case SampleEnd::size:
            report.window = job.window->may_end_beyond ? WindowEnd::before : WindowEnd::missed;
            report.missed_by = miss_reason(result);
            break;
        default:
            report.window = WindowEnd::before;
            break;
    }
}

// Returns false if what the thread executes cannot be counted.
bool SampleEmulation::begin_collecting(const SampleJob& job, MapResolver& resolver,
                                       GuestThreads::Index thread) {
    if (thread >= job.threads.size()) return true;
    const auto known = unwound_.find(thread);
    auto stack = known != unwound_.end() ? known->second : stack_of(job, thread);
    if (stack && job.live() && !job.is_void())
        seen_at_.insert(seen_at_.end(), stack->begin(), stack->end());
    if (thread != 0) {
        const std::vector here{job.threads[thread].cpu.rip};
        collector_.begin_thread(thread, stack ? *stack : here);
        return true;
    }
    // The emulator may know this code from another process, if both have the same.
    if (std::exchange(last_process_, job.process) != job.process) collector_.new_emulator();
    first_stack_ = std::move(stack).value_or(std::vector<GuestAddress>{});
    collector_.begin({.resolver = resolver,
                      .stack = first_stack_,
                      .skip_instructions = skip_instructions_,
                      .weight = weight_,
                      .time_ns = comes_to_nothing_ ? 0 : job.thread_seconds() * 1e9,
                      .began_at = began_at(job),
                      .expected_instructions = expected_instructions_,
                      .number = job.number,
                      .bursts = job.bursts ? &*job.bursts : nullptr,
                      .seed = job.seed});
    return !first_stack_.empty();
}

// Unwinds a replica's stack now, and copies that of a live sample, to be unwound later.
void SampleEmulation::keep_stack(const SampleJob& job, GuestThreads::Index thread) {
    if (job.live()) return copy_stack(job, thread);
    if (thread < job.threads.size() && !unwound_.contains(thread))
        unwound_[thread] = stack_of(job, thread);
}

// The call stack of a thread of the snapshot; nothing if it is no longer known.
std::optional<std::vector<GuestAddress>> SampleEmulation::stack_of(const SampleJob& job,
                                                                   GuestThreads::Index thread) {
    const auto& cpu = job.threads[thread].cpu;
    if (job.replica()) {
        ProcessMemory memory(job.pid());
        return unwinder_.unwind(cpu, *job.map, memory);
    }
    if (!stacks_.has(thread)) return std::nullopt;
    CopiedStack memory(stacks_[thread], *job.map, job.memory_fd());
    auto stack = unwinder_.unwind(cpu, *job.map, memory);
    if (memory.lost()) return std::nullopt;
    return stack;
}

// Called while the emulation is under way, whose trace waits.
bool SampleEmulation::is_wiped(const SampleJob& job) {
    const auto start = Clock::now();
    if (job.live() || job.replica()->is_whole || start < next_wiped_check_) return false;
    const auto wiped = has_wiped_memory(job.pid());
    const auto end = Clock::now();
    next_wiped_check_ = end + std::max<Clock::duration>(wiped_check_share * (end - start),
                                                        min_between_wiped_checks);
    return wiped && *wiped;
}

void SampleEmulation::conclude(const SampleJob& job, const SampleOutcome& outcome,
                               SampleReport& report) {
    report.end = report.wiped ? SampleEnd::replica_lost : outcome.result.end;
    if (job.replica() && report.end == SampleEnd::fault &&
        !job.map->find(outcome.result.fault_address))
        report.missing = outcome.result.fault_address;
    report.stopped_threads = outcome.result.stopped_threads;
    report.single_stepped = outcome.result.single_stepped;
    report.counters = outcome.counters;
    if (again_) report.counters.cpu_ns += again_->counters.cpu_ns;
    report.syscalls = SyscallReport::parse(outcome.syscall_report);
    if (report.syscalls && report.end == SampleEnd::time) report.syscalls->end_reason.clear();
    // Another worker has its memory elsewhere.
    const bool misplaced =
        report.end == SampleEnd::no_room && misplaced_workers_++ < max_misplaced_workers;
    const bool exhausted = outcome.worker_exhausted || (again_ && again_->worker_exhausted);
    report.replace_worker |= exhausted || report.trace_damaged || misplaced;
}

std::vector<GuestAddress> SampleEmulation::take_seen_addresses(const SampleJob& job) {
    auto seen = std::exchange(seen_at_, {});
    for (std::size_t i = 0; seen.empty() && i < job.threads.size(); ++i) {
        const auto stack = stack_of(job, static_cast<GuestThreads::Index>(i));
        if (stack) seen.insert(seen.end(), stack->begin(), stack->end());
    }
    return seen;
}

}  // namespace shadowprof
