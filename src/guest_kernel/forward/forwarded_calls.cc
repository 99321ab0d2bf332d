#include "guest_kernel/forward/forwarded_calls.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/contains.h"
#include "base/cpu_state.h"
#include "guest_kernel/forward/wait_times.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

// More than a signal's frame takes, with its extended state.
constexpr std::uint64_t max_frame_bytes = 32768;
constexpr std::int64_t ns_per_s = 1'000'000'000, ns_per_us = 1'000;
// How often the supervisor is asked for calls that have ended while other threads go on.
constexpr std::int64_t asking_period_ns = 200'000;
constexpr std::int64_t no_deadline_ns = std::numeric_limits<std::int64_t>::max();
// Far from an overflow of nanoseconds.
constexpr std::int64_t longest_s = 4'000'000'000;
constexpr std::int64_t ns_per_clock_tick = ns_per_s / 100;  // USER_HZ

// Calls by which another process comes to see the guest's memory.
constexpr std::array sharing_calls = {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork};
// Calls by which a process leaves its memory.
constexpr std::array leaving_calls = {SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group};

// Whether a write of the kernel to these ranges cannot fail: behind the end of a file it would.
bool can_be_written_to(std::span<const MemoryRange> ranges, const GuestMemory& memory) {
    return std::ranges::all_of(ranges, [&](const MemoryRange& range) {
        for (auto at = range.start; at < range.end;) {
            const auto* mapping = memory.find(at);
            if (!mapping || !mapping->writable || mapping->is_file()) return false;
            at = mapping->end;
        }
        return true;
    });
}

timespec timespec_of(std::int64_t ns) {
    return {ns / ns_per_s, ns % ns_per_s};
}
timeval timeval_of(std::int64_t ns) {
    return {ns / ns_per_s, ns % ns_per_s / ns_per_us};
}

// Whether the clock shows processor time of the process or of one of its threads. Negative ids are
// the inverted id of a process, or of a thread of the caller's own, above three bits of kind
// (include/linux/posix-timers_types.h).
bool is_processor_clock(std::uint64_t id) {
    constexpr std::uint32_t kind_mask = 3, of_file = 3, of_thread = 4;
    const auto clock = static_cast<std::int32_t>(id);
    if (clock >= 0) return clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
    const auto bits = static_cast<std::uint32_t>(clock);
    return (bits & kind_mask) != of_file && ((bits & of_thread) != 0 || ~(clock >> 3) == 0);
}

}  // namespace

ForwardedCalls::ForwardedCalls(const ProcessLinks& links)
    : links_(links),
      began_ns_(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID)),
      futexes_([this](clockid_t clock) { return *clock_ns(clock); }) {}

std::int64_t ForwardedCalls::processor_ns() const {
    if (has_own_time()) return links_.time->processor_ns();
    return static_cast<std::int64_t>(links_.earlier_processor_ns) +
           read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns_;
}

// Nothing if there is no such clock.
std::optional<std::int64_t> ForwardedCalls::clock_ns(clockid_t clock) const {
    const auto of_guest_ns = has_own_time() ? links_.time->clock_ns(clock) : std::nullopt;
    if (of_guest_ns) return of_guest_ns;
    if (is_processor_clock(static_cast<std::uint64_t>(clock))) return processor_ns();
    timespec now = {};
    if (clock_gettime(clock, &now) != 0) return std::nullopt;
    return now.tv_sec * ns_per_s + now.tv_nsec;
}

// Makes a call that asks for the time, or waits for one. Returns its result; nothing if the process
// must make the call.
std::optional<std::int64_t> ForwardedCalls::answer_by_own_time(const Call& call,
                                                               GuestSpace& space) {
    if (!has_own_time()) return std::nullopt;
    const auto& a = call.arguments;
    const auto answer_as = [&](VdsoFunction function) {
        return answer_vdso(function, {a[0]}, {a[1]}, space).value_or(-EFAULT);
    };
    const auto of_clock_ns = links_.time->clock_ns(static_cast<clockid_t>(a[0]));
    switch (call.number) {
        case SYS_clock_gettime:
            if (!of_clock_ns) return std::nullopt;
            return a[1] == 0 ? -EFAULT : answer_as(VdsoFunction::clock_gettime);
        case SYS_gettimeofday:
            return answer_as(VdsoFunction::gettimeofday);
        case SYS_time:
            return answer_as(VdsoFunction::time);
        case SYS_clock_nanosleep: {
            // The kernel's clock would be another one.
            const auto until = read_value<timespec>(space, {a[2]});
            const auto until_ns = until ? ns_of(*until, longest_s) : std::nullopt;
            if ((a[1] & TIMER_ABSTIME) == 0 || !of_clock_ns || !until_ns) return std::nullopt;
            pass_time_until(monotonic_ns() + (*until_ns - *of_clock_ns));
            return 0;
        }
        default:
            return std::nullopt;
    }
}

void ForwardedCalls::pass_time_until(std::int64_t until_ns) {
    if (!has_own_time()) return;
    const auto wait_ns = std::max<std::int64_t>(0, until_ns - monotonic_ns());
    links_.time->waited_ns += static_cast<std::uint64_t>(wait_ns);
}

// The kernel waits by the host's clock, and may overwrite how long.
void ForwardedCalls::note_wait(GuestThreads::Index thread, const Call& call) {
    if (!has_own_time()) return;
    longest_waits_ns_.erase(thread);
    if (const auto wait_ns = longest_wait_ns(call.number, call.arguments, links_.memory))
        longest_waits_ns_[thread] = *wait_ns;
}

// A call that has waited as long as it said has let that time pass.
void ForwardedCalls::end_wait(GuestThreads::Index thread, const Call& call, std::uint64_t result) {
    const auto wait = longest_waits_ns_.find(thread);
    if (wait == longest_waits_ns_.end()) return;
    if (result == timed_out(call.number)) pass_time_until(monotonic_ns() + wait->second);
    longest_waits_ns_.erase(wait);
}

bool ForwardedCalls::wants_trace(const CpuState& cpu) const {
    const auto number = static_cast<std::uint32_t>(cpu[Gpr::rax]);
    return may_change_layout(number) || number == SYS_clone || number == SYS_clone3;
}

ForwardedCalls::Call ForwardedCalls::call_of(const CpuState& cpu) {
    const auto number = static_cast<std::uint32_t>(cpu[Gpr::rax]);
    return {number, call_arguments(cpu), find_syscall_facts(number)};
}

// Nothing if the supervisor is gone.
std::optional<ForwardedCalls::Answer> ForwardedCalls::ask(CallRequest request) {
    request.processor_ns = processor_ns();
    if (links_.time) request.time = *links_.time;
    const auto bytes = links_.outside.call(std::as_bytes(std::span(&request, 1)));
    if (!bytes || bytes->size() < sizeof(CallAnswer)) return std::nullopt;
    Answer answer;
    std::memcpy(static_cast<CallAnswer*>(&answer), bytes->data(), sizeof(CallAnswer));
    if (links_.time) links_.time->timer_due_ns = answer.timer_due_ns;
    auto payload = std::span(*bytes).subspan(sizeof(CallAnswer));
    if (answer.kind == CallAnswer::Kind::born) {
        if (payload.size() < sizeof(CpuState)) return std::nullopt;
        std::memcpy(&answer.born.emplace(), payload.data(), sizeof(CpuState));
        payload = payload.subspan(sizeof(CpuState));
    }
    answer.ranges.resize(payload.size() / sizeof(MemoryRange));
    std::memcpy(answer.ranges.data(), payload.data(), answer.ranges.size() * sizeof(MemoryRange));
    return answer;
}

std::optional<SampleEnd> ForwardedCalls::on_syscall(GuestThreads& threads, GuestSpace& space,
                                                    std::uint64_t) {
    auto& cpu = threads.cpu();
    const auto call = call_of(cpu);
    const bool has_others = threads.size() > 1;
    if (const auto result = answer_by_own_time(call, space)) {
        cpu[Gpr::rax] = static_cast<std::uint64_t>(*result);
        return std::nullopt;
    }
    // The kernel would take times by the guest's clock for times by its own.
    if (has_others || has_own_time()) {
        if (const auto result = futexes_.call(call.number, call.arguments, threads, space)) {
            if (threads.state(threads.current()) == GuestThreads::State::runs)
                cpu[Gpr::rax] = static_cast<std::uint64_t>(*result);
            await_times(threads);
            return std::nullopt;
        }
    }
    const auto thread = threads.current();
    CallRequest request{.thread = thread, .cpu = cpu};
    if (!bring(call, cpu, thread, request)) return SampleEnd::replica_lost;
    // Others may write meanwhile: what such a call changes could not be told from that.
    request.may_wait = has_others && request.is_current == 0;
    note_wait(thread, call);
    const auto answer = ask(request);
    if (!answer || answer->thread != thread) return SampleEnd::stopped;
    const auto end = follow(*answer, request.is_current != 0, threads, space);
    await_times(threads);
    if (call.number == SYS_rseq && answer->rax == 0) note_rseq(call, thread);
    // The run may end behind any call, but the order of threads does not depend on that.
    if ((!end || *end == SampleEnd::size) && call.number == SYS_sched_yield) threads.yield();
    return end;
}

// Does what an answer says. Returns why the run must end.
std::optional<SampleEnd> ForwardedCalls::follow(const Answer& answer, bool was_current,
                                                GuestThreads& threads, GuestSpace& space) {
    using enum CallAnswer::Kind;
    if (answer.thread >= threads.size()) return SampleEnd::stopped;
    switch (answer.kind) {
        case gone:
            links_.memory.drop_pages();
            return SampleEnd::exit;
        case none:
            break;
        case under_way:
            // The kernel may have written to a word that it waits on.
            links_.memory.take(answer.ranges, links_.process);
            leave_to_kernel(threads.current(), call_of(threads.cpu()));
            threads.enter_call();
            break;
        case exited:
            end_thread(answer, threads, space);
            break;
        case left:
        case returned:
        case born:
            if (const auto end = finish(answer, was_current, threads)) return end;
            break;
    }
    if (answer.ends_run != 0) return SampleEnd::size;
    return std::nullopt;
}

// Takes the result of a call, of the current thread or of one whose call was under way.
std::optional<SampleEnd> ForwardedCalls::finish(const Answer& answer, bool was_current,
                                                GuestThreads& threads) {
    const auto thread = static_cast<GuestThreads::Index>(answer.thread);
    auto& cpu = threads.cpu(thread);
    take_from_kernel(thread);
    const auto call = call_of(cpu);
    end_wait(thread, call, answer.rax);
    const auto end = take(call, answer, thread, was_current);
    links_.memory.take(answer.ranges, links_.process);
    if (answer.kind == CallAnswer::Kind::left) return SampleEnd::stopped;
    cpu.fs_base = answer.fs_base;
    cpu.gs_base = answer.gs_base;
    const bool tells_time = call.number == SYS_times && !has_failed(answer.rax);
    cpu[Gpr::rax] = tells_time && has_own_time()
                        ? static_cast<std::uint64_t>(monotonic_ns() / ns_per_clock_tick)
                        : answer.rax;
    threads.wake(thread, static_cast<std::int64_t>(cpu[Gpr::rax]));
    if (answer.kind == CallAnswer::Kind::born &&
        (!answer.born || threads.add(*answer.born, true) != answer.new_thread))
        return SampleEnd::stopped;
    if (answer.kind == CallAnswer::Kind::born && answer.new_thread < links_.rseq.size())
        links_.rseq[answer.new_thread] = {};
    return end;
}

void ForwardedCalls::leave_to_kernel(GuestThreads::Index thread, const Call& call) {
    auto& memory = links_.memory;
    auto writes = call.facts ? ranges_written_under_way(call.facts->memory, call.arguments, memory)
                             : std::nullopt;
    if (!writes || writes->empty()) return;
    under_way_[thread] = std::move(*writes);
    tell_under_way();
}

// Notes the calls that are under way since another worker's time.
void ForwardedCalls::note_under_way(GuestThreads& threads) {
    for (GuestThreads::Index i = 0; i < threads.size(); ++i)
        if (threads.state(i) == GuestThreads::State::in_call)
            leave_to_kernel(i, call_of(threads.cpu(i)));
}

// The thread's call has ended, if it was under way.
void ForwardedCalls::take_from_kernel(GuestThreads::Index thread) {
    if (under_way_.erase(thread) != 0) tell_under_way();
}

void ForwardedCalls::tell_under_way() {
    std::vector<MemoryRange> all;
    for (const auto& [each, ranges] : under_way_)
        all.insert(all.end(), ranges.begin(), ranges.end());
    links_.memory.leave_to_kernel(std::move(all));
}

// Does what the kernel does at a thread's end, for the threads that wait here.
void ForwardedCalls::end_thread(const Answer& answer, GuestThreads& threads, GuestSpace& space) {
    if (answer.robust_list.value != 0)
        futexes_.leave_robust_list(answer.robust_list, answer.tid, threads, space);
    if (answer.cleared.value != 0) futexes_.clear(answer.cleared, threads, space);
    threads.stop(SampleEnd::exit);
}

void ForwardedCalls::note_rseq(const Call& call, GuestThreads::Index thread) {
    constexpr std::uint64_t unregister = 1;  // RSEQ_FLAG_UNREGISTER
    if (thread >= links_.rseq.size()) links_.rseq.resize(thread + 1);
    links_.rseq[thread] = {call.arguments[2] & unregister ? 0 : call.arguments[0]};
}

// Does what the kernel does when it takes the processor from the current thread: a restartable
// sequence that it is in goes on at its abort handler (rseq(2), include/uapi/linux/rseq.h).
void ForwardedCalls::abort_restartable(GuestThreads& threads, GuestSpace& space) {
    const auto thread = threads.current();
    if (threads.size() < 2 || thread >= links_.rseq.size() || links_.rseq[thread].value == 0 ||
        threads.state(thread) != GuestThreads::State::runs)
        return;
    struct Sequence {
        std::uint32_t version, flags;
        std::uint64_t start, bytes, abort;
    };
    const auto pointer = links_.rseq[thread] + 8;
    const auto at = read_value<GuestAddress>(space, pointer);
    if (!at || at->value == 0) return;
    const auto sequence = read_value<Sequence>(space, *at);
    guest_store(space, pointer, GuestAddress{});
    auto& rip = threads.cpu().rip;
    if (sequence && rip.value - sequence->start < sequence->bytes) rip = {sequence->abort};
}

// Turns end while a time is awaited.
void ForwardedCalls::await_times(GuestThreads& threads) const {
    const bool has_timer = links_.time && links_.time->timer_due_ns != GuestTime::never_ns;
    threads.await_time(has_timer || futexes_.first_deadline_ns());
}

// Leaves the time in the guest's time, if a timer is due.
bool ForwardedCalls::find_timer_due() {
    if (!links_.time || links_.time->timer_due_ns == GuestTime::never_ns) return false;
    const auto now_ns = processor_ns();
    if (now_ns < links_.time->timer_due_ns) return false;
    links_.time->timer_found_due_ns = now_ns;
    return true;
}

void ForwardedCalls::on_moved(GuestThreads::Index thread, GuestThreads::State state) {
    if (state != GuestThreads::State::waits) futexes_.forget(thread);
    if (state != GuestThreads::State::in_call) take_from_kernel(thread);
}

std::optional<SampleEnd> ForwardedCalls::before_turn(GuestThreads& threads, GuestSpace& space) {
    if (threads.state(threads.current()) == GuestThreads::State::calls) {
        threads.put(threads.current(), threads.cpu(), GuestThreads::State::runs);
        if (const auto end = on_syscall(threads, space, 0)) return end;
    }
    if (!threads.is_in_turn()) abort_restartable(threads, space);
    if (std::exchange(begins_, false)) note_under_way(threads);
    if (find_timer_due()) return SampleEnd::size;
    while (true) {
        const auto deadline_ns = futexes_.first_deadline_ns();
        const bool looks = deadline_ns || threads.has_calls();
        const auto host_ns = looks ? read_clock_ns(CLOCK_MONOTONIC) : 0;
        const auto now_ns = has_own_time() ? monotonic_ns() : host_ns;
        if (deadline_ns) futexes_.wake_late(now_ns, threads);
        const bool idle = !threads.runs_any();
        if (idle && deadline_ns && has_own_time() && !threads.has_calls()) {
            pass_time_until(*deadline_ns);
            continue;
        }
        const bool asks = idle || (threads.has_calls() && host_ns - asked_ns_ > asking_period_ns);
        await_times(threads);
        if (!asks) return std::nullopt;
        using enum CallRequest::Kind;
        const auto until_ns = deadline_ns ? host_ns + (*deadline_ns - now_ns) : no_deadline_ns;
        const auto answer = ask({.kind = idle ? awaited : ended, .until_ns = until_ns});
        if (!answer) return SampleEnd::stopped;
        if (idle && deadline_ns && answer->kind == CallAnswer::Kind::none)
            pass_time_until(*deadline_ns);
        if (const auto end = follow(*answer, false, threads, space)) return end;
        if (answer->kind == CallAnswer::Kind::none && !idle) asked_ns_ = host_ns;
    }
}

// Brings to the process what the kernel will read, and what the guest wrote to memory of which the
// kernel may write a part. False if the process has no such memory.
bool ForwardedCalls::bring(const Call& call, const CpuState& cpu, GuestThreads::Index thread,
                           CallRequest& request) {
    half_written_.erase(thread);
    if (call.number == SYS_rt_sigreturn) {
        const GuestAddress frame{cpu[Gpr::rsp] - sizeof(std::uint64_t)};
        return links_.memory.give(std::array{MemoryRange{frame, frame + max_frame_bytes}},
                                  links_.process);
    }
    const bool leaves = contains(leaving_calls, call.number) && others_see_end();
    const bool shares = leaves || contains(sharing_calls, call.number);
    if (!shares && (!call.facts || bring_known(call, cpu, thread))) return true;
    request.is_current = 1;
    return links_.memory.give_all(links_.process);
}

// Whether others see the guest's memory when it ends or executes another program: a parent that
// shares it, or the kernel that finds a list of robust futexes there, of which some may be shared.
bool ForwardedCalls::others_see_end() const {
    return links_.shares_memory ||
           std::ranges::any_of(links_.memory.layout().mappings(), [](const Mapping& mapping) {
               return mapping.shared && mapping.writable;
           });
}

// False if it is not known what the call reads or writes.
bool ForwardedCalls::bring_known(const Call& call, const CpuState& cpu,
                                 GuestThreads::Index thread) {
    const auto& use = call.facts->memory;
    auto& memory = links_.memory;
    const auto reads = ranges_read(use, call.arguments, memory);
    auto writes = ranges_maybe_written(use, call.arguments, memory);
    if (!reads || !writes) return false;
    // Where the call meets memory that it cannot use, it is not known how far it came.
    auto all = ranges_written_under_way(use, call.arguments, memory);
    if (all && !can_be_written_to(*all, memory)) {
        writes = std::move(all);
        half_written_[thread] = *writes;
    }
    // Code that the guest has just written may hold the instruction itself.
    const MemoryRange instruction{cpu.rip - syscall_instruction_bytes, cpu.rip};
    if (use.layout && !memory.give_stack(links_.process)) return false;
    return memory.give(std::array{instruction}, links_.process) &&
           memory.give(*reads, links_.process) && memory.give(*writes, links_.process);
}

// Takes what the call has changed. `was_current`: see CallRequest. Returns why the run must end.
std::optional<SampleEnd> ForwardedCalls::take(const Call& call, const CallAnswer& answer,
                                              GuestThreads::Index thread, bool was_current) {
    auto& memory = links_.memory;
    if (was_current) {
        memory.refresh_writable();
    } else if (call.facts) {
        const auto& use = call.facts->memory;
        auto writes = written_ranges(use, call.arguments, answer.rax, memory, links_.process);
        // All of these were brought.
        if (!writes) writes = ranges_maybe_written(use, call.arguments, memory);
        if (writes) memory.take(*writes, links_.process);
        const auto half = half_written_.find(thread);
        if (half != half_written_.end()) memory.take(half->second, links_.process);
    }
    if (answer.maps_bytes != 0)
        if (const auto end = take_layout(answer)) return end;
    add_processor_time(call, answer.rax);
    return std::nullopt;
}

std::optional<SampleEnd> ForwardedCalls::take_layout(const CallAnswer& answer) {
    auto map = links_.map_in_mailbox(answer.maps_bytes);
    if (!map) return SampleEnd::worker_lost;
    if (links_.memory.change_layout(std::move(*map))) {
        links_.on_new_layout();
        return std::nullopt;
    }
    // The next run begins at another distance, with what the process has.
    return links_.memory.give_all(links_.process) ? SampleEnd::no_room : SampleEnd::replica_lost;
}

// The process itself executes next to nothing: its processor time is that of the emulation.
void ForwardedCalls::add_processor_time(const Call& call, std::uint64_t result) {
    if (has_failed(result)) return;
    auto& memory = links_.memory;
    const auto& a = call.arguments;
    // As by the vDSO, for both to agree.
    if (call.number == SYS_clock_gettime && is_processor_clock(a[0])) {
        guest_store(memory, {a[1]}, timespec_of(processor_ns()));
        return;
    }
    if (call.number == SYS_getrusage && (a[0] == RUSAGE_SELF || a[0] == RUSAGE_THREAD)) {
        // The user's time, and the system's.
        auto times = read_value<std::array<timeval, 2>>(memory, {a[1]});
        if (!times) return;
        if (has_own_time()) times->fill({});
        auto& user = times->front();
        user = timeval_of(user.tv_sec * ns_per_s + user.tv_usec * ns_per_us + processor_ns());
        guest_store(memory, {a[1]}, *times);
    }
    if (call.number == SYS_times && a[0] != 0) {
        auto times = read_value<std::array<clock_t, 2>>(memory, {a[0]});
        if (!times) return;
        if (has_own_time()) times->fill(0);
        times->front() += processor_ns() / ns_per_clock_tick;
        guest_store(memory, {a[0]}, *times);
    }
}

std::optional<SampleEnd> ForwardedCalls::on_vdso(VdsoFunction function, GuestThreads& threads,
                                                 GuestSpace& space, std::uint64_t) {
    auto& cpu = threads.cpu();
    const auto result = answer_vdso(function, {cpu[Gpr::rdi]}, {cpu[Gpr::rsi]}, space);
    if (!result) return SampleEnd::fault;
    cpu[Gpr::rax] = static_cast<std::uint64_t>(*result);
    return std::nullopt;
}

// Returns the function's result; nothing if memory that it writes to is not there.
std::optional<std::int64_t> ForwardedCalls::answer_vdso(VdsoFunction function, GuestAddress first,
                                                        GuestAddress second,
                                                        GuestSpace& space) const {
    const auto store = [&](GuestAddress at, const auto& value,
                           std::int64_t result = 0) -> std::optional<std::int64_t> {
        if (at.value != 0 && !guest_store(space, at, value)) return std::nullopt;
        return result;
    };
    const auto clock = static_cast<clockid_t>(first.value);
    switch (function) {
        case VdsoFunction::clock_gettime: {
            const auto now_ns = clock_ns(clock);
            return now_ns ? store(second, timespec_of(*now_ns)) : -EINVAL;
        }
        case VdsoFunction::gettimeofday: {
            const auto stored = store(first, timeval_of(*clock_ns(CLOCK_REALTIME)));
            if (!stored || second.value == 0) return stored;
            // The C library's function may not ask the kernel.
            struct timezone zone = {};
            syscall(SYS_gettimeofday, nullptr, &zone);
            return store(second, zone);
        }
        case VdsoFunction::time: {
            const auto seconds = *clock_ns(CLOCK_REALTIME_COARSE) / ns_per_s;
            return store(first, seconds, seconds);
        }
        case VdsoFunction::clock_getres: {
            timespec resolution = {};
            return clock_getres(clock, &resolution) == 0 ? store(second, resolution) : -EINVAL;
        }
        case VdsoFunction::getcpu: {
            unsigned processor = 0, node = 0;
            getcpu(&processor, &node);
            return store(first, processor) ? store(second, node) : std::nullopt;
        }
    }
    return -EINVAL;
}

}  // namespace shadowprof
