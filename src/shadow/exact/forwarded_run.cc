#include "shadow/exact/forwarded_run.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/cpu_state.h"
#include "decoder/client_request.h"
#include "profile/statistics/random.h"
#include "ptrace/proc/proc.h"
#include "ptrace/thread/breakpoint.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/thread_registers.h"
#include "shadow/exact/exact_limits.h"

namespace shadowprof {
namespace {

// About how many words of the trace a record has that comes with values or addresses.
constexpr std::size_t words_with_values = 64;

// The process still has, by the descriptor that was opened before, what the worker brings.
constexpr auto unreadable_memory =
    "it has kept its memory from shadowprof (prctl(PR_SET_DUMPABLE)): only root may read it";

// Whether prctl(2) or arch_prctl(2) is to refuse instructions, or to allow them again.
bool sets_refused(const CpuState& cpu) {
    const auto number = static_cast<std::uint32_t>(cpu[Gpr::rax]);
    const auto kind = static_cast<int>(cpu[Gpr::rdi]);
    return kind == (number == SYS_prctl ? PR_SET_TSC : ARCH_SET_CPUID);
}

std::string unshared_memory(std::string_view name) {
    return fmt::format(
        "it maps memory that others may write to, and whose file cannot be opened here: {}", name);
}

}  // namespace

ForwardedRun::ForwardedRun(ScopedStop& stop, OwnedWorker& worker, TraceConsumer& consumer,
                           const ForwardedOptions& options, ExactStats& stats,
                           std::vector<Divergence>& divergences)
    : stop_(stop),
      worker_(worker),
      consumer_(consumer),
      options_(options),
      stats_(stats),
      divergences_(divergences),
      breakpoints_(measure_breakpoint_kind(stop.target().hub())),
      processor_({stop.threads().front().tid(), worker->pid()}),
      process_(stop.target(), stop.threads().front(), options.cleared_at_end, breakpoints_,
               processor_, stats),
      shares_memory_(options.shares_memory),
      time_(options.time),
      checks_(options.checked_share, options.seed) {
    if (options.inherits_marks) process_.suppose_marks();
    thread().refuse(options.refused);
}

Result<bool> ForwardedRun::begin() {
    TRY(set_options(thread()));
    TRY(thread().read_state());
    return let_go(begin_stretch());
}

Result<bool> ForwardedRun::step() {
    return let_go(advance());
}

// Lets the program go on by itself if it is followed no further.
Result<bool> ForwardedRun::let_go(Result<bool> followed) {
    const bool goes_on = followed && *followed;
    const bool is_gone = !followed && followed.error().code == ErrorCode::gone;
    if (goes_on || is_gone || !is_current_) return followed;
    const auto released = process_.release(at_);
    if (!released && followed) return released.error();
    return followed;
}

ForwardedRun::Awaited ForwardedRun::awaits() const {
    if (pause_) return {-1, std::nullopt};
    if (!question_) return {worker_->socket_fd(), std::nullopt};
    const bool has_deadline = question_->kind != CallRequest::Kind::call;
    return {-1, has_deadline ? std::optional(question_->until_ns) : std::nullopt};
}

// Emulates as far as it goes. Returns false if the program cannot be followed any further.
Result<bool> ForwardedRun::begin_stretch() {
    while (true) {
        if (is_given_up()) return Error{ErrorCode::interrupted, 0, "shadowprof was told to end"};
        if ((thread().state().rflags & trap_flag) == 0) break;
        // The program gets a SIGTRAP for each instruction, which only the hardware can do.
        TRY_ASSIGN(auto passage, pass_to_next_call("the program single-steps itself"));
        TRY_ASSIGN(const bool goes_on, prepare_next(std::move(passage)));
        if (!goes_on) return false;
    }
    left_.reset();
    if (is_check_due()) TRY(prepare_check());
    if (!checked_) return begin_emulation(RunCalls::forwarded);
    return begin_emulation(process_.size() == 1 ? RunCalls::end_run : RunCalls::one_turn);
}

// Does what the worker's next word asks for, if there is one.
Result<bool> ForwardedRun::advance() {
    if (pause_) return go_on_from_pause();
    if (question_) {
        TRY(answer_late());
        return true;
    }
    auto next = of_worker(worker_->next_of_exact(0));
    if (!next && next.error().code != ErrorCode::interrupted) return next.error();
    const auto now = Clock::now();
    if (next) {
        last_word_ = now;
        if (const auto* outcome = std::get_if<SampleOutcome>(&*next)) return take(*outcome);
        if (const auto* segment = std::get_if<TraceSegment>(&*next))
            consumer_.segment(*worker_, *segment);
        if (const auto* question = std::get_if<WorkerProcess::Question>(&*next))
            TRY(answer(*question));
    }
    if (now - last_word_ > silence_limit)
        return Error{ErrorCode::system, 0, "the emulator does not answer"};
    if (now >= observation_due_ && !question_ && !pause_) TRY(look_for_signals());
    return true;
}

// Whether a signal waits for which the emulation must stop.
Result<void> ForwardedRun::look_for_signals() {
    observation_due_ = Clock::now() + signal_period;
    TRY_ASSIGN(const bool stops, is_stop_due());
    if (stops && !std::exchange(stopping_, true)) TRY(of_worker(worker_->stop_exact()));
    return {};
}

// The emulation has ended: leads the program on, and begins the next stretch.
Result<bool> ForwardedRun::take(const SampleOutcome& outcome) {
    is_emulating_ = false;
    is_in_turn_ = outcome.result.in_turn;
    for (const auto& [name, counter] : worker_counters)
        counters_.*counter += outcome.counters.*counter;
    time_ = outcome.time;
    auto checked = std::exchange(checked_, std::nullopt);
    if (!checked) take_states(outcome);
    TRY_ASSIGN(const bool goes_on,
               checked ? end_checked(std::move(*checked), outcome) : end_stretch(outcome));
    if (!goes_on) return false;
    TRY_ASSIGN(const bool pauses, pause(at_));
    return pauses ? Result<bool>(true) : begin_stretch();
}

// If the process is stopped as a whole, leaves it so. Only one thread alone is treated that way:
// others would have to be stopped as well.
Result<bool> ForwardedRun::pause(std::size_t index) {
    if (process_.live_threads() != 1 || !process_.has(index) || process_.thread(index).is_in_call())
        return false;
    TRY_ASSIGN(const bool pauses, process_.thread(index).pause());
    if (pauses) pause_ = Pause{index};
    return pauses;
}

Result<bool> ForwardedRun::go_on_from_pause() {
    auto& thread = process_.thread(pause_->index);
    if (is_given_up()) {
        TRY(thread.end_pause());
    } else {
        TRY_ASSIGN(const bool continues, thread.has_continued());
        if (!continues) return true;
    }
    const auto pause = std::exchange(pause_, std::nullopt);
    // A signal may have come with the end of the stop.
    observation_due_ = Clock::now();
    if (!pause->answer) return begin_stretch();
    TRY(send(*pause->answer, pause->maps));
    return true;
}

// Tells the worker what has changed, and lets it run. Returns false if the program cannot be
// followed any further.
Result<bool> ForwardedRun::begin_emulation(RunCalls calls) {
    std::string text;
    if (anew_) shared_files_.forget();
    if (anew_ || layout_changed_) {
        TRY_ASSIGN(const bool ready, prepare_layout(text));
        if (options_.probes) TRY(of_worker(options_.probes->prepare(*worker_, map_)));
        if (!ready) stats_.stopped_early = unshared_memory(*missing_.writable);
        if (!ready) return false;
    }
    if (anew_) {
        TRY_ASSIGN(memory_, open_process_memory(process_.live_tid(), O_RDWR));
    }
    const bool has_restarted = restart_trace();
    if (!thread().is_in_call()) TRY(thread().read_rseq());
    const auto& rseq = thread().rseq();
    if (!rseq.empty()) changed_.push_back({rseq.start, rseq.end});
    changed_.insert(changed_.end(), missing_.others.begin(), missing_.others.end());
    const auto all = anew_ ? all_threads() : std::vector<StartThread>{};
    ExactRequest request{.kind = anew_ ? RunKind::exact : RunKind::exact_next,
                         .cpu = thread().state(),
                         .thread = static_cast<GuestThreads::Index>(at_),
                         .state = thread().place(),
                         .rseq = rseq.empty() ? GuestAddress{} : rseq.start,
                         .maps_text = text,
                         .changed = changed_,
                         .memory_fd = anew_ ? memory_.get() : -1,
                         .calls = calls,
                         .earlier_processor_ns = counters_.cpu_ns,
                         .shares_memory = shares_memory_,
                         .time = time_,
                         .stack_limit_bytes = stack_limit_bytes(process_.live_tid())};
    if (anew_) {
        request.changed = {};
        request.cpu = all.front().cpu;
        request.thread = 0;
        request.state = all.front().state;
        request.rseq = all.front().rseq;
        request.more_threads = std::span(all).subspan(1);
    }
    request.time.timer_due_ns = process_.timers().deadline_ns();
    request.time.timer_found_due_ns = GuestTime::never_ns;
    // Their order depends on nothing else than the program.
    request.limits.seed = options_.turns_seed;
    set_levels(request.limits);
    // Where some are refused, the hardware executes them. A request is the worker's in any case.
    const bool leaves_some = process_.refuses_instructions() && !at_request_;
    request.limits.executes_nondeterministic = calls == RunCalls::forwarded && !leaves_some;
    request.limits.lasting_threads = calls != RunCalls::end_run;
    request.limits.notes_script_stacks = has_restarted;
    const bool has_values =
        request.limits.value_instructions != 0 || request.limits.reference_instructions != 0;
    if (calls == RunCalls::one_turn)
        request.limits.turn_words = checks_.words(has_values ? words_with_values : 1);
    if (calls == RunCalls::forwarded && can_check())
        request.limits.until_ns = checks_.due().time_since_epoch() / std::chrono::nanoseconds(1);
    TRY(of_worker(worker_->begin_exact(request)));
    is_emulating_ = true;
    last_word_ = Clock::now();
    // Where one thread has got a signal, another one may have one as well.
    observation_due_ = stopping_ ? last_word_ : last_word_ + signal_period;
    is_current_ = anew_ = layout_changed_ = stopping_ = leaves_checks_ = is_in_turn_ = false;
    at_request_ = false;
    changed_.clear();
    return true;
}

// All threads, for a worker that does not know them. It does not know who waits for whom either:
// calls that wait in the emulation are made anew.
std::vector<StartThread> ForwardedRun::all_threads() const {
    std::vector<StartThread> threads;
    for (std::size_t i = 0; i < process_.size(); ++i) {
        if (!process_.has(i)) {
            threads.push_back({.cpu = {},
                               .state = GuestThreads::State::stopped,
                               .pace = GuestThreads::usual_pace});
            continue;
        }
        const auto& each = process_.thread(i);
        const bool waits = each.place() == GuestThreads::State::waits;
        threads.push_back({.cpu = waits ? each.state_without_emulation() : each.state(),
                           .state = waits ? GuestThreads::State::runs : each.place(),
                           .pace = GuestThreads::usual_pace,
                           .rseq = each.rseq().empty() ? GuestAddress{} : each.rseq().start});
    }
    return threads;
}

// Reads the mappings. Returns false if there are some that the emulator cannot have.
Result<bool> ForwardedRun::prepare_layout(std::string& text) {
    TRY_ASSIGN(text, read_maps_text(process_.live_tid()));
    TRY_ASSIGN(map_, MemoryMap::parse(text));
    consumer_.set_layout(map_);
    TRY_ASSIGN(missing_, of_worker(shared_files_.give(process_.live_tid(), map_, *worker_)));
    return !missing_.writable;
}

void ForwardedRun::set_levels(RunLimits& limits) const {
    limits.notes_system_calls = options_.profiles.has<SystemCallList>();
    limits.notes_call_results = limits.notes_system_calls;
    if (const auto& bursts = options_.bursts) {
        limits.value_events = bursts->value_length;
        limits.reference_events = bursts->reference_length;
        limits.events_between_values = bursts->between_values();
        limits.events_between_references = bursts->between_references();
        limits.events = bursts->plan.events;
        limits.seed = mix64(options_.seed ^ stats_.intervals);
    } else {
        if (options_.profiles.has<ValueList>()) limits.value_instructions = RunLimits::unlimited;
        if (options_.profiles.has_any_of(exact_reference_kinds))
            limits.reference_instructions = RunLimits::unlimited;
    }
}

// Whether the stretch must end soon. When the process has gone, it ends by itself.
Result<bool> ForwardedRun::is_stop_due() {
    if (is_gone_) return false;
    if (is_given_up()) return true;
    TRY_ASSIGN(const auto signalled, process_.signalled());
    return signalled.has_value();
}

Result<void> ForwardedRun::answer(const WorkerProcess::Question& question) {
    CallRequest request;
    if (question.size() != sizeof request) return unasked_question();
    std::memcpy(&request, question.data(), sizeof request);
    time_ = request.time;
    return pass_on(request, process_.answer(request, !options_.is_alone || options_.is_alone()));
}

// A call that is awaited is left to the kernel only if all is given up. Otherwise signals end it.
Result<void> ForwardedRun::answer_late() {
    const auto request = *question_;
    const bool is_call = request.kind == CallRequest::Kind::call;
    TRY_ASSIGN(const bool stops, is_call ? Result<bool>(is_given_up()) : is_stop_due());
    return pass_on(request, process_.answer_late(request, stops));
}

// Gives the worker the answer, if there is one now.
Result<void> ForwardedRun::pass_on(const CallRequest& request,
                                   Result<std::optional<ForwardedProcess::Answer>> answered) {
    using enum CallAnswer::Kind;
    is_gone_ = !answered && answered.error().code == ErrorCode::gone;
    if (!answered && !is_gone_) return std::move(answered).error();
    question_.reset();
    if (is_gone_) return send({.message = {.kind = gone, .thread = request.thread}}, {});
    if (!*answered) {
        question_ = request;
        return {};
    }
    auto& answer = **answered;
    answer.message.timer_due_ns = process_.timers().deadline_ns();
    left_ = std::move(answer.left);
    TRY(note_call(request, answer.message));
    const auto signalled = process_.is_signalled_behind(request);
    if (!signalled && signalled.error().code != ErrorCode::gone) return signalled.error();
    stopping_ |= signalled && *signalled;
    answer.message.ends_run |= signalled && *signalled;
    std::string text;
    if (answer.layout_changed) {
        TRY_ASSIGN(text, take_layout(answer.message));
    }
    if (answer.born) {
        begin_trace(answer.message.new_thread);
        // Later ones inherit the options.
        auto ended = process_.size() == 2 ? end_fork_server() : Result<void>();
        if (!ended && ended.error().code != ErrorCode::gone) return ended;
    }
    TRY_ASSIGN(const bool pauses, pause(request.thread));
    if (!pauses) return send(answer, text);
    pause_->answer = std::move(answer);
    pause_->maps = std::move(text);
    return {};
}

// Does what a call asks for beside its answer.
Result<void> ForwardedRun::note_call(const CallRequest& request, CallAnswer& message) {
    const bool is_call = request.kind == CallRequest::Kind::call;
    const bool has_returned = message.kind == CallAnswer::Kind::returned;
    message.ends_run |= has_returned && is_call && checks_.is_due() && can_check();
    if (!is_call) return {};
    switch (static_cast<std::uint32_t>(request.cpu[Gpr::rax])) {
        case SYS_setrlimit:
        case SYS_prlimit64:
            // The next stretch begins with the new limit of the stack.
            message.ends_run = 1;
            return {};
        case SYS_prctl:
        case SYS_arch_prctl:
            // It may have changed which instructions are refused.
            message.ends_run |= has_returned && sets_refused(request.cpu);
            return {};
        case SYS_rseq:
            return has_returned ? process_.thread(request.thread).read_rseq() : Result<void>();
        case SYS_sched_setaffinity:
            if (has_returned) process_.thread(request.thread).note_processor(memory_.get());
            return {};
        default:
            return {};
    }
}

// Returns the text of the new mappings, for the worker.
Result<std::string> ForwardedRun::take_layout(CallAnswer& message) {
    std::string text;
    const auto prepared = prepare_layout(text);
    if (!prepared && prepared.error().code == ErrorCode::permission) {
        message.kind = CallAnswer::Kind::left;
        left_ = {message.thread, {.blocked = unreadable_memory}};
        return std::string();
    }
    TRY_ASSIGN(const bool ready, prepared);
    message.maps_bytes = text.size();
    // Probes can be set only between two stretches.
    layout_changed_ = options_.probes && !options_.probes->is_prepared(map_);
    message.ends_run |= layout_changed_;
    if (!ready) {
        message.kind = CallAnswer::Kind::left;
        left_ = {message.thread, {.blocked = unshared_memory(*missing_.writable)}};
    }
    return text;
}

Result<void> ForwardedRun::send(const ForwardedProcess::Answer& answer, std::string_view maps) {
    last_word_ = Clock::now();
    std::vector<std::byte> bytes;
    const auto add = [&](const auto& each) {
        const auto more = std::as_bytes(std::span(each));
        bytes.insert(bytes.end(), more.begin(), more.end());
    };
    add(std::span(&answer.message, 1));
    if (answer.message.kind == CallAnswer::Kind::born) add(std::span(&*answer.born, 1));
    add(missing_.others);
    add(answer.ranges);
    return of_worker(worker_->answer_call(bytes, maps));
}

// Notes what the threads have come to.
void ForwardedRun::take_states(const SampleOutcome& outcome) {
    if (outcome.threads.empty()) {
        using enum GuestThreads::State;
        thread().emulated_to(outcome.cpu, thread().is_in_call() ? in_call : runs);
    }
    for (std::size_t i = 0; i < outcome.threads.size(); ++i)
        if (process_.has(i))
            process_.thread(i).emulated_to(outcome.threads[i].cpu, outcome.threads[i].state);
    at_ = outcome.thread;
    if (left_) {
        // The emulation does not know yet that its call is over.
        at_ = left_->index;
        is_in_turn_ = false;
        thread().emulated_to(thread().state(), GuestThreads::State::runs);
    } else if (!process_.has(at_) || thread().is_in_call()) {
        at_ = process_.first_standing();
        is_in_turn_ = false;
    }
}

// Leads the process on from where the emulation has ended.
Result<bool> ForwardedRun::end_stretch(const SampleOutcome& outcome) {
    const auto end = outcome.result.end;
    if (end == SampleEnd::replica_lost && process_.ends_soon())
        return Error{ErrorCode::gone, ESRCH, "the program has ended"};
    if (end == SampleEnd::replica_lost || end == SampleEnd::worker_lost)
        return Error{
            ErrorCode::system, 0,
            fmt::format("the emulation ended at {:#x} by {}", outcome.cpu.rip.value, name(end))};
    is_current_ = true;
    if (left_) {
        auto& passage = left_->passage;
        note_result(thread().state(), passage);
        if (!passage.executed && !passage.jumped) TRY(thread().native().make_state_true());
        TRY(thread().read_state());
        return prepare_next(std::move(passage));
    }
    is_current_ = false;
    if (end == SampleEnd::exit) return Error{ErrorCode::gone, ESRCH, "the program has ended"};
    if (!thread().is_in_call()) TRY(thread().make_true());
    is_current_ = true;
    TRY_ASSIGN(auto passage, end == SampleEnd::size ? deliver_signals() : pass_end(outcome));
    if (outcome.worker_exhausted) TRY(replace_worker());
    return prepare_next(std::move(passage));
}

// Delivers the signals for which the stretch has ended, if it has ended for them.
Result<Passage> ForwardedRun::deliver_signals() {
    if (time_.timer_found_due_ns != GuestTime::never_ns)
        TRY(process_.signal_timers(at_, time_.timer_found_due_ns));
    TRY_ASSIGN(const auto signalled, process_.signalled());
    if (!signalled) return Passage{};
    at_ = *signalled;
    is_in_turn_ = false;
    return thread().deliver_signals();
}

Result<Passage> ForwardedRun::pass_end(const SampleOutcome& outcome) {
    placings_ = outcome.result.end == SampleEnd::no_room ? placings_ + 1 : 0;
    switch (outcome.result.end) {
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
    TRY_ASSIGN(const bool there, thread().native().run_to({.kind = NativeRun::Stop::Kind::fault,
                                                           .address = outcome.cpu.rip,
                                                           .signal = outcome.result.signal}));
    if (there) return led_on(thread().native().pass_fault());
    note_excluded("the hardware did not fault where the emulator did");
    return led_on(thread().native().pass_whatever());
}

// The emulation answers requests, but not in an interval that the hardware runs as well.
bool ForwardedRun::stands_at_request() const {
    const auto at = thread().state().rip.value - client_request_preamble_bytes;
    std::array<std::byte, client_request_code.size()> code;
    return pread(memory_.get(), code.data(), code.size(), static_cast<off_t>(at)) ==
               std::ssize(code) &&
           is_client_request(code);
}

Result<Passage> ForwardedRun::pass_instruction() {
    if (stands_at_request()) {
        leaves_checks_ = at_request_ = true;
        return Passage{};
    }
    ++stats_.intervals;
    ++stats_.native_instructions;
    ++stats_.boundaries["an instruction"];
    return led_on(thread().native().pass_instruction(false));
}

// The thread executes something that is not emulated. It may make a call there that is not asked
// for.
void ForwardedRun::note_excluded(std::string why) {
    ++stats_.excluded[std::move(why)];
    anew_ = jumped_ = true;
    process_.suppose_marks();
}

// Lets the program run to its next system call, where it can be followed again.
Result<Passage> ForwardedRun::pass_to_next_call(std::string why) {
    note_excluded(std::move(why));
    thread().native().enter_handlers_with(nullptr);
    TRY(thread().native().run_to({.kind = NativeRun::Stop::Kind::syscall}));
    return led_on(thread().native().pass_whatever());
}

// The thread has been led on by itself.
Result<Passage> ForwardedRun::led_on(Result<Passage> passage) {
    if (passage) TRY(thread().read_state());
    return passage;
}

// Notes what the next stretch must know of what happened in between. Returns false if the program
// cannot be followed any further.
Result<bool> ForwardedRun::prepare_next(Passage passage) {
    thread().native().enter_handlers_with(nullptr);
    stats_.signals = process_.signals_held();
    if (!passage.blocked.empty()) {
        stats_.stopped_early = std::move(passage.blocked);
        return false;
    }
    const bool all = std::ranges::any_of(passage.writes.ranges,
                                         [](const auto& range) { return range.is_all(); });
    changed_ = all ? std::vector{MemoryRange::all()} : std::move(passage.writes.ranges);
    layout_changed_ |= passage.writes.layout || all;
    anew_ |= passage.executed;
    executed_ += passage.executed;
    shares_memory_ &= !passage.executed;
    if (passage.executed) TRY(begin_program());
    jumped_ |= passage.jumped;
    new_trace_ |= passage.executed;
    return true;
}

Result<void> ForwardedRun::begin_program() {
    TRY(end_fork_server());
    consumer_.begin_program();
    if (options_.probes) options_.probes->new_program();
    return {};
}

// Notes what a call of the present thread has returned that the thread did not return from in its
// emulation. `call` are its registers at the call.
void ForwardedRun::note_result(const CpuState& call, const Passage& passage) {
    if (!options_.profiles.has<SystemCallList>() || !passage.result || passage.executed) return;
    consumer_.note({.pc = call.rip - syscall_instruction_bytes,
                    .value = static_cast<std::uint32_t>(call[Gpr::rax]),
                    .key = *passage.result,
                    .probe = call_result_note,
                    .thread = static_cast<GuestThreads::Index>(at_)});
}

Result<void> ForwardedRun::replace_worker() {
    consumer_.drain();
    TRY(worker_.replace());
    processor_.add(worker_->pid());
    if (options_.probes) options_.probes->new_worker();
    consumer_.new_emulator();
    anew_ = new_trace_ = true;
    return {};
}

// Returns whether the trace of any thread begins anew.
bool ForwardedRun::restart_trace() {
    const bool only_one = process_.size() == 1;
    const bool restarts = new_trace_ || jumped_;
    if (new_trace_ || (jumped_ && only_one)) {
        consumer_.restart(process_.has(0) ? process_.thread(0).tid() : 0, stack_of(0));
        for (std::size_t i = 1; i < process_.size(); ++i)
            if (process_.has(i)) begin_trace(i);
    } else if (jumped_) {
        begin_trace(at_);
    }
    new_trace_ = jumped_ = false;
    return restarts;
}

void ForwardedRun::begin_trace(std::size_t index) {
    consumer_.begin_thread(static_cast<GuestThreads::Index>(index), process_.thread(index).tid(),
                           stack_of(index));
}

std::vector<GuestAddress> ForwardedRun::stack_of(std::size_t index) {
    if (!process_.has(index)) return {};
    ProcessMemory memory(process_.live_tid());
    return unwinder_.unwind(process_.thread(index).state(), map_, memory);
}

}  // namespace shadowprof
