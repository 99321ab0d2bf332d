#include "shadow/exact/forwarded_run.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "profile/statistics/random.h"
#include "ptrace/proc/proc.h"
#include "ptrace/remote/forks.h"
#include "ptrace/thread/breakpoint.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/ptrace_call.h"
#include "ptrace/thread/thread_registers.h"
#include "shadow/exact/exact_limits.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t syscall_bytes = 2;
// Until when no copy of the process is tried after one could not be made.
constexpr std::chrono::seconds time_without_copies{1};

// Calls that read, set or hand on the thread's processors.
constexpr std::array<std::int64_t, 6> affinity_calls = {
    SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_fork, SYS_vfork, SYS_clone, SYS_clone3};

std::string unshared_memory(std::string_view name) {
    return fmt::format(
        "it maps memory that others may write to, and whose file cannot be opened here: {}", name);
}

}  // namespace

ForwardedRun::ForwardedRun(ScopedStop& stop, OwnedWorker& worker, TraceConsumer& consumer,
                           const ForwardedOptions& options, ExactStats& stats,
                           std::vector<Divergence>& divergences)
    : stop_(stop),
      thread_(stop.threads().front()),
      worker_(worker),
      consumer_(consumer),
      options_(options),
      stats_(stats),
      divergences_(divergences),
      breakpoints_(measure_breakpoint_kind(stop.target().hub())),
      native_(stop.target(), thread_, breakpoints_),
      processor_({thread_.tid(), worker->pid()}) {}

Result<void> ForwardedRun::run() {
    // Without us, the process would go on from a state that is long past.
    TRY(ptrace_call(PTRACE_SETOPTIONS, thread_.tid(), 0,
                    target_ptrace_options(stop_.target().forks()) | PTRACE_O_EXITKILL,
                    "PTRACE_SETOPTIONS"));
    auto followed = follow();
    if (!followed && followed.error().code == ErrorCode::gone) return followed;
    if (!is_current_) return followed;
    processor_.remove(thread_.tid());
    const auto released = native_.release();
    return followed ? released : followed;
}

Result<void> ForwardedRun::follow() {
    while (true) {
        if (options_.on_tick) options_.on_tick();
        if (options_.is_given_up && options_.is_given_up())
            return Error{ErrorCode::interrupted, 0, "shadowprof was told to end"};
        TRY_ASSIGN(const bool goes_on, stretch());
        if (!goes_on) return {};
    }
}

// Emulates as far as it goes. Returns false if the program cannot be followed any further.
Result<bool> ForwardedRun::stretch() {
    TRY_ASSIGN(const auto start, thread_.snapshot());
    if (start.cpu.rflags & trap_flag) {
        // The program gets a SIGTRAP for each instruction, which only the hardware can do.
        TRY_ASSIGN(auto passage, pass_to_next_call("the program single-steps itself"));
        return prepare_next(std::move(passage));
    }
    state_ = start.cpu;
    left_.reset();
    if (is_check_due()) {
        const auto forking = Clock::now();
        auto interval = IntervalCheck::begin(stop_, thread_, start.cpu, breakpoints_);
        if (interval) return checked_stretch(start.cpu, *interval, Clock::now() - forking);
        if (interval.error().code == ErrorCode::gone) return std::move(interval).error();
        // No copy can be made now, as at a limit of processes.
        check_due_ = Clock::now() + time_without_copies;
    }
    TRY_ASSIGN(const bool begins, begin(start.cpu, RunCalls::forwarded));
    if (!begins) return false;
    TRY_ASSIGN(const auto outcome, follow_emulation());
    for (const auto& [name, counter] : worker_counters)
        counters_.*counter += outcome.counters.*counter;
    return end_stretch(outcome);
}

bool ForwardedRun::is_check_due() const {
    return options_.checked_share > 0 && Clock::now() >= check_due_ &&
           std::ranges::none_of(map_.mappings(),
                                [](const Mapping& m) { return m.shared && m.writable; });
}

// Emulates one interval, up to the next system call or the like, and checks it.
Result<bool> ForwardedRun::checked_stretch(const CpuState& start, IntervalCheck& interval,
                                           Clock::duration forking) {
    TRY_ASSIGN(const bool begins, begin(start, RunCalls::end_run));
    if (!begins) return false;
    TRY_ASSIGN(const auto outcome, follow_emulation());
    for (const auto& [name, counter] : worker_counters)
        counters_.*counter += outcome.counters.*counter;
    const auto checking = Clock::now();
    TRY(check(interval, outcome));
    TRY_ASSIGN(const bool current, of_worker(worker_->give_memory()));
    if (!current) return Error{ErrorCode::system, 0, "the process has not the program's memory"};
    const auto now = Clock::now();
    const std::chrono::duration<double> cost = forking + (now - checking);
    // At random, so that nothing that a program does in a rhythm is always left out.
    const double wait = 2 * static_cast<double>(mix64(options_.seed ^ stats_.compared) >> 11) /
                        static_cast<double>(std::uint64_t{1} << 53);
    check_due_ =
        now + std::chrono::duration_cast<Clock::duration>(wait * cost / options_.checked_share);
    state_ = outcome.cpu;
    native_.enter_handlers_with(&state_);
    const bool at_call = outcome.result.end == SampleEnd::stopped;
    if (!at_call) return end_stretch(outcome);
    TRY_ASSIGN(auto passage, pass_checked(outcome));
    is_current_ = true;
    return prepare_next(std::move(passage));
}

// Compares the interval's end with the hardware's.
Result<void> ForwardedRun::check(IntervalCheck& interval, const SampleOutcome& outcome) {
    TRY_ASSIGN(auto found, interval.compare(outcome, *worker_));
    if (!found) return {};
    ++stats_.compared;
    if (found->empty()) return {};
    ++stats_.diverged;
    found->insert(found->begin(), fmt::format("ended at {:#x}", outcome.cpu.rip.value));
    if (divergences_.size() < kept_divergences)
        divergences_.push_back({stats_.intervals, std::move(*found)});
    return {};
}

// Leads the process past the call at which a checked interval has ended.
Result<Passage> ForwardedRun::pass_checked(const SampleOutcome& outcome) {
    ++stats_.intervals;
    if (outcome.result.syscalls == 0) {
        ++stats_.boundaries["a vDSO call"];
        TRY(thread_.set_cpu_state(outcome.cpu));
        return native_.pass_vdso_call();
    }
    ++stats_.boundaries["a system call"];
    TRY(set_off_call(outcome.cpu, true));
    TRY_ASSIGN(auto passage, native_.pass_syscall({.handlers_first = false}));
    if (passage.blocked.empty()) passage.blocked = why_not_further();
    return passage;
}

// Tells the worker what has changed, and lets it run. Returns false if the program cannot be
// followed any further.
Result<bool> ForwardedRun::begin(const CpuState& cpu, RunCalls calls) {
    std::string text;
    if (anew_) shared_files_.forget();
    if (anew_ || layout_changed_) {
        TRY_ASSIGN(const bool ready, prepare_layout(text));
        if (options_.probes) TRY(of_worker(options_.probes->prepare(*worker_, map_)));
        if (!ready) stats_.stopped_early = unshared_memory(*missing_.writable);
        if (!ready) return false;
    }
    if (anew_) {
        TRY_ASSIGN(memory_, open_process_memory(thread_.tid(), O_RDWR));
    }
    if (jumped_) TRY(restart_trace());
    TRY_ASSIGN(rseq_, read_rseq_area(thread_));
    if (!rseq_.empty()) changed_.push_back({rseq_.start, rseq_.end});
    changed_.insert(changed_.end(), missing_.others.begin(), missing_.others.end());
    ExactRequest request{.kind = anew_ ? RunKind::exact : RunKind::exact_next,
                         .cpu = cpu,
                         .maps_text = text,
                         .changed = changed_,
                         .memory_fd = anew_ ? memory_.get() : -1,
                         .calls = calls,
                         .earlier_processor_ns = counters_.cpu_ns,
                         .stack_limit_bytes = stack_limit_bytes(thread_.tid())};
    if (anew_) request.changed = {};
    set_levels(request.limits);
    request.limits.executes_nondeterministic = calls == RunCalls::forwarded;
    TRY(of_worker(worker_->begin_exact(request)));
    is_current_ = anew_ = layout_changed_ = stopping_ = false;
    changed_.clear();
    return true;
}

// Reads the mappings. Returns false if there are some that the emulator cannot have.
Result<bool> ForwardedRun::prepare_layout(std::string& text) {
    TRY_ASSIGN(text, read_maps_text(thread_.tid()));
    TRY_ASSIGN(map_, MemoryMap::parse(text));
    consumer_.set_layout(map_);
    TRY_ASSIGN(missing_, of_worker(shared_files_.give(thread_.tid(), map_, *worker_)));
    return !missing_.writable;
}

void ForwardedRun::set_levels(RunLimits& limits) const {
    limits.notes_system_calls = options_.profiles.has<SystemCallList>();
    if (const auto& bursts = options_.bursts) {
        limits.value_events = bursts->value_length;
        limits.reference_events = bursts->reference_length;
        limits.events_between_values = bursts->between_values();
        limits.events_between_references = bursts->between_references();
        limits.events = bursts->plan.events;
        limits.seed = mix64(options_.seed ^ stats_.intervals);
    } else {
        if (options_.profiles.has<ValueList>()) limits.value_instructions = RunLimits::unlimited;
        if (options_.profiles.has_any_of(reference_kinds))
            limits.reference_instructions = RunLimits::unlimited;
    }
}

// Follows the emulation to the stretch's end.
Result<SampleOutcome> ForwardedRun::follow_emulation() {
    auto next_observation = Clock::now() + signal_period;
    auto last_word = Clock::now();
    while (true) {
        auto next = of_worker(worker_->next_of_exact(static_cast<int>(signal_period.count())));
        if (!next && next.error().code != ErrorCode::interrupted) return next.error();
        if (next) {
            if (auto* outcome = std::get_if<SampleOutcome>(&*next)) return std::move(*outcome);
            if (const auto* segment = std::get_if<TraceSegment>(&*next))
                consumer_.segment(*worker_, *segment);
            if (const auto* question = std::get_if<WorkerProcess::Question>(&*next))
                TRY(answer(*question));
            last_word = Clock::now();
        }
        const auto now = Clock::now();
        if (now - last_word > silence_limit)
            return Error{ErrorCode::system, 0, "the emulator does not answer"};
        if (now < next_observation) continue;
        next_observation = now + signal_period;
        if (options_.on_tick) options_.on_tick();
        TRY_ASSIGN(const bool stops, is_stop_due());
        if (stops && !std::exchange(stopping_, true)) TRY(of_worker(worker_->stop_exact()));
    }
}

// Whether the stretch must end soon. When the process has gone, it ends by itself.
Result<bool> ForwardedRun::is_stop_due() {
    if (is_gone_) return false;
    if (options_.is_given_up && options_.is_given_up()) return true;
    return native_.has_signal();
}

Result<void> ForwardedRun::answer(const WorkerProcess::Question& question) {
    CallRequest request;
    if (question.size() != sizeof request) return unasked_question();
    std::memcpy(&request, question.data(), sizeof request);
    auto answered = make_call(request);
    const bool checks_next =
        answered && answered->kind == CallAnswer::Kind::returned && is_check_due();
    if (!answered && answered.error().code != ErrorCode::gone) return std::move(answered).error();
    is_gone_ = !answered;
    CallAnswer answer = answered ? *answered : CallAnswer{.kind = CallAnswer::Kind::gone};
    const auto number = static_cast<std::uint32_t>(request.cpu[Gpr::rax]);
    // The next stretch begins with the new limit of the stack.
    answer.ends_run = checks_next || number == SYS_setrlimit || number == SYS_prlimit64;
    if (number == SYS_rseq && answered) {
        TRY_ASSIGN(rseq_, read_rseq_area(thread_));
    }
    std::string text;
    if (answer.kind == CallAnswer::Kind::returned && std::exchange(layout_changed_, false)) {
        TRY_ASSIGN(const bool ready, prepare_layout(text));
        answer.maps_bytes = text.size();
        // Probes can be set only between two stretches.
        layout_changed_ = options_.probes && !options_.probes->is_prepared(map_);
        answer.ends_run |= layout_changed_;
        if (!ready) {
            answer.kind = CallAnswer::Kind::left;
            left_ = Passage{.blocked = unshared_memory(*missing_.writable)};
        }
    }
    std::vector<std::byte> bytes(sizeof answer);
    std::memcpy(bytes.data(), &answer, sizeof answer);
    const auto add = [&](const std::vector<MemoryRange>& ranges) {
        const auto as_bytes = std::as_bytes(std::span(ranges));
        bytes.insert(bytes.end(), as_bytes.begin(), as_bytes.end());
    };
    add(missing_.others);
    add(written_at_resume());
    if (left_) add(left_->writes.ranges);
    return of_worker(worker_->answer_call(bytes, text));
}

// What the kernel writes when the process goes on: the number of its processor, and where that is.
// Between them is what only the program writes (struct rseq, include/uapi/linux/rseq.h).
std::vector<MemoryRange> ForwardedRun::written_at_resume() const {
    constexpr std::uint64_t numbers_end = 8, place_start = 20, place_end = 28;
    if (rseq_.empty()) return {};
    std::vector<MemoryRange> ranges = {{rseq_.start, rseq_.start + numbers_end}};
    if (rseq_.end - rseq_.start >= place_end)
        ranges.push_back({rseq_.start + place_start, rseq_.start + place_end});
    return ranges;
}

// Has the process make the call.
Result<CallAnswer> ForwardedRun::make_call(const CallRequest& request) {
    state_ = request.cpu;
    native_.enter_handlers_with(&state_);
    ++stats_.intervals;
    ++stats_.boundaries["a system call"];
    const auto number = static_cast<std::int64_t>(request.cpu[Gpr::rax]);
    // A child begins with the process's own extended state.
    TRY(set_off_call(request.cpu, request.is_current != 0));
    // The program asks for its own processors, or bears what inherits them.
    const bool has_own = std::ranges::find(affinity_calls, number) != affinity_calls.end();
    if (has_own) processor_.remove(thread_.tid());
    TRY_ASSIGN(auto passage,
               native_.pass_syscall({.names_writes = false, .handlers_first = false}));
    if (passage.blocked.empty()) passage.blocked = why_not_further();
    if (has_own) processor_.add(thread_.tid());
    if (number == SYS_sched_setaffinity) note_processor();
    return answer_of(passage);
}

// Writes the processor's number where the kernel will write it when the process goes on, if the
// process may use one alone.
void ForwardedRun::note_processor() const {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    if (rseq_.empty() || sched_getaffinity(thread_.tid(), sizeof processors, &processors) != 0 ||
        CPU_COUNT(&processors) != 1)
        return;
    std::uint32_t number = 0;
    while (!CPU_ISSET(number, &processors)) ++number;
    const std::array<std::uint32_t, 2> start_and_now = {number, number};
    static_cast<void>(pwrite(memory_.get(), start_and_now.data(), sizeof start_and_now,
                             static_cast<off_t>(rseq_.start.value)));
}

// Leads the process to the entry of a system call. `cpu` is the program's state behind the
// instruction.
Result<void> ForwardedRun::set_off_call(const CpuState& cpu, bool with_extended) {
    TRY_ASSIGN(auto registers, thread_.registers());
    store_general(cpu, registers);
    registers.rip -= syscall_bytes;
    registers.orig_rax = no_syscall;
    TRY(thread_.set_registers(registers));
    if (with_extended) TRY(native_.make_state_true());
    TRY_ASSIGN(const bool there, native_.run_to({.kind = NativeRun::Stop::Kind::syscall}));
    if (!there) return Error{ErrorCode::system, 0, "the process did not come to a system call"};
    return {};
}

// Why the program cannot be followed behind the call that it has made; empty if it can.
std::string ForwardedRun::why_not_further() {
    if (native_.has_processor_timer())
        return "it set a timer of processor time, of which its process takes none";
    if (native_.has_memory_sharer()) return "a child of it goes on in the same memory";
    return {};
}

Result<CallAnswer> ForwardedRun::answer_of(const Passage& passage) {
    if (passage.executed || passage.jumped || !passage.blocked.empty()) {
        left_ = passage;
        // A call that was not made has written nothing.
        return CallAnswer{
            .kind = passage.executed ? CallAnswer::Kind::gone : CallAnswer::Kind::left,
            .rax = passage.result.value_or(static_cast<std::uint64_t>(-EINTR))};
    }
    TRY_ASSIGN(const auto registers, thread_.registers());
    layout_changed_ = passage.writes.layout;
    return CallAnswer{
        .rax = registers.rax, .fs_base = registers.fs_base, .gs_base = registers.gs_base};
}

// Leads the process on from where the emulation has ended.
Result<bool> ForwardedRun::end_stretch(const SampleOutcome& outcome) {
    const auto end = outcome.result.end;
    if (end == SampleEnd::replica_lost || end == SampleEnd::worker_lost)
        return Error{
            ErrorCode::system, 0,
            fmt::format("the emulation ended at {:#x} by {}", outcome.cpu.rip.value, name(end))};
    if (left_) {
        is_current_ = true;
        if (!left_->executed && !left_->jumped) TRY(native_.make_state_true());
        return prepare_next(std::move(*left_));
    }
    if (end == SampleEnd::exit) return Error{ErrorCode::gone, ESRCH, "the program has ended"};
    TRY(thread_.set_cpu_state(outcome.cpu));
    is_current_ = true;
    state_ = outcome.cpu;
    native_.enter_handlers_with(&state_);
    TRY_ASSIGN(auto passage, pass_end(outcome));
    if (outcome.worker_exhausted) TRY(replace_worker());
    return prepare_next(std::move(passage));
}

Result<Passage> ForwardedRun::pass_end(const SampleOutcome& outcome) {
    placings_ = outcome.result.end == SampleEnd::no_room ? placings_ + 1 : 0;
    switch (outcome.result.end) {
        case SampleEnd::size: {
            Passage passage;
            TRY(native_.deliver_waiting(passage));
            return passage;
        }
        case SampleEnd::no_room:
            // There may be room at another distance, or in another worker, whose mappings are
            // elsewhere.
            if (placings_ > 1) TRY(replace_worker());
            anew_ = true;
            if (placings_ <= max_places) return Passage{};
            return Passage{.blocked = "the emulator has no room for the program's mappings"};
        case SampleEnd::fault:
            return pass_fault(outcome);
        case SampleEnd::unsupported_instruction:
            return pass_instruction();
        default:
            return Passage{.blocked = fmt::format("the emulation ended at {:#x} by {}",
                                                  outcome.cpu.rip.value, name(outcome.result.end))};
    }
}

// The hardware makes the access: it either faults itself, or succeeds where the emulator cannot
// read.
Result<Passage> ForwardedRun::pass_fault(const SampleOutcome& outcome) {
    const auto* mapping = map_.find(outcome.result.fault_address);
    const bool is_clock = mapping && mapping->name.starts_with("[vvar");
    if (is_clock || (mapping && outcome.result.signal == SIGBUS)) return pass_instruction();
    ++stats_.intervals;
    ++stats_.boundaries["a fault"];
    TRY_ASSIGN(const bool there, native_.run_to({.kind = NativeRun::Stop::Kind::fault,
                                                 .address = outcome.cpu.rip,
                                                 .signal = outcome.result.signal}));
    if (there) return native_.pass_fault();
    ++stats_.excluded["the hardware did not fault where the emulator did"];
    anew_ = jumped_ = true;
    return native_.pass_whatever();
}

Result<Passage> ForwardedRun::pass_instruction() {
    ++stats_.intervals;
    ++stats_.native_instructions;
    ++stats_.boundaries["an instruction"];
    return native_.pass_instruction(false);
}

// Lets the program run to its next system call, where it can be followed again.
Result<Passage> ForwardedRun::pass_to_next_call(std::string why) {
    ++stats_.excluded[std::move(why)];
    anew_ = jumped_ = true;
    native_.enter_handlers_with(nullptr);
    TRY(native_.run_to({.kind = NativeRun::Stop::Kind::syscall}));
    return native_.pass_whatever();
}

// Notes what the next stretch must know of what happened in between. Returns false if the program
// cannot be followed any further.
Result<bool> ForwardedRun::prepare_next(Passage passage) {
    native_.enter_handlers_with(nullptr);
    stats_.signals = native_.signals_held();
    if (!passage.blocked.empty()) {
        stats_.stopped_early = std::move(passage.blocked);
        return false;
    }
    const bool all = std::ranges::any_of(passage.writes.ranges,
                                         [](const auto& range) { return range.is_all(); });
    changed_ = all ? std::vector{MemoryRange::all()} : std::move(passage.writes.ranges);
    layout_changed_ |= passage.writes.layout || all;
    anew_ |= passage.executed;
    if (passage.executed) stop_.target().end_companion();
    jumped_ |= passage.jumped || passage.executed;
    return true;
}

Result<void> ForwardedRun::replace_worker() {
    consumer_.drain();
    TRY(worker_.replace());
    processor_.add(worker_->pid());
    if (options_.probes) options_.probes->new_worker();
    consumer_.new_emulator();
    anew_ = true;
    return {};
}

Result<void> ForwardedRun::restart_trace() {
    TRY_ASSIGN(const auto snapshot, thread_.snapshot());
    ProcessMemory memory(thread_.tid());
    consumer_.restart(unwinder_.unwind(snapshot.cpu, map_, memory));
    jumped_ = false;
    return {};
}

}  // namespace shadowprof
