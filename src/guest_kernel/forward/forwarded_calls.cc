#include "guest_kernel/forward/forwarded_calls.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/clock.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t syscall_bytes = 2;
// More than a signal's frame takes, with its extended state.
constexpr std::uint64_t max_frame_bytes = 32768;
constexpr std::int64_t ns_per_s = 1'000'000'000, ns_per_us = 1'000;
constexpr std::int64_t ns_per_clock_tick = ns_per_s / 100;  // USER_HZ

// Calls by which another process comes to see the guest's memory.
constexpr std::array sharing_calls = {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork};

// Calls after which nothing is left of the contents of the range that their first two arguments
// name. What the guest wrote there need not be brought.
bool empties_range(std::uint32_t number, const CallArguments& a) {
    switch (number) {
        case SYS_munmap:
            return true;
        case SYS_mmap:
            return (a[3] & MAP_FIXED) != 0;
        case SYS_madvise:
            return a[2] == MADV_DONTNEED;
        default:
            return false;
    }
}

// Whether the call names a range that it does not write: mmap(2) and most advice.
bool leaves_range(std::uint32_t number, const CallArguments& a) {
    return (number == SYS_mmap && (a[3] & MAP_FIXED) == 0) ||
           (number == SYS_madvise && a[2] != MADV_DONTNEED);
}

MemoryRange named_range(const CallArguments& a) {
    return {{a[0]}, {a[0] + std::min(a[1], ~a[0])}};
}

timespec timespec_of(std::int64_t ns) {
    return {ns / ns_per_s, ns % ns_per_s};
}

bool is_processor_clock(std::uint64_t id) {
    return id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID;
}

}  // namespace

ForwardedCalls::ForwardedCalls(const ProcessLinks& links)
    : links_(links), began_ns_(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID)) {}

std::int64_t ForwardedCalls::processor_ns() const {
    return static_cast<std::int64_t>(links_.earlier_processor_ns) +
           read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns_;
}

bool ForwardedCalls::wants_trace(const CpuState& cpu) const {
    return may_change_layout(static_cast<std::uint32_t>(cpu[Gpr::rax]));
}

std::optional<SampleEnd> ForwardedCalls::on_syscall(GuestThreads& threads, GuestSpace&,
                                                    std::uint64_t) {
    auto& cpu = threads.cpu();
    const auto number = static_cast<std::uint32_t>(cpu[Gpr::rax]);
    const Call call{
        number,
        {cpu[Gpr::rdi], cpu[Gpr::rsi], cpu[Gpr::rdx], cpu[Gpr::r10], cpu[Gpr::r8], cpu[Gpr::r9]},
        find_syscall_facts(number)};
    CallRequest request{.cpu = cpu};
    if (!bring(call, cpu, request)) return SampleEnd::replica_lost;
    const auto bytes = links_.outside.call(std::as_bytes(std::span(&request, 1)));
    CallAnswer answer;
    if (!bytes || bytes->size() < sizeof answer) return SampleEnd::stopped;
    std::memcpy(&answer, bytes->data(), sizeof answer);
    if (answer.kind == CallAnswer::Kind::gone) {
        links_.memory.drop_pages();
        return SampleEnd::exit;
    }
    const auto payload = std::span(*bytes).subspan(sizeof answer);
    std::vector<MemoryRange> ranges(payload.size() / sizeof(MemoryRange));
    std::memcpy(ranges.data(), payload.data(), ranges.size() * sizeof(MemoryRange));
    const auto end = take(call, answer, request.is_current != 0);
    links_.memory.take(ranges, links_.process);
    if (answer.kind == CallAnswer::Kind::left) return SampleEnd::stopped;
    cpu[Gpr::rax] = answer.rax;
    cpu.fs_base = answer.fs_base;
    cpu.gs_base = answer.gs_base;
    if (end) return end;
    if (answer.ends_run != 0) return SampleEnd::size;
    return std::nullopt;
}

// Brings to the process what the kernel will read, and what the guest wrote to memory of which the
// kernel may write a part. False if the process has no such memory.
bool ForwardedCalls::bring(const Call& call, const CpuState& cpu, CallRequest& request) {
    if (call.number == SYS_rt_sigreturn) {
        const GuestAddress frame{cpu[Gpr::rsp] - sizeof(std::uint64_t)};
        return links_.memory.give(std::array{MemoryRange{frame, frame + max_frame_bytes}},
                                  links_.process);
    }
    const bool shares = std::ranges::find(sharing_calls, call.number) != sharing_calls.end();
    if (!shares && (!call.facts || bring_known(call, cpu))) return true;
    request.is_current = 1;
    return links_.memory.give_all(links_.process);
}

// False if it is not known what the call reads or writes.
bool ForwardedCalls::bring_known(const Call& call, const CpuState& cpu) {
    const auto& use = call.facts->memory;
    auto& memory = links_.memory;
    const auto reads = ranges_read(use, call.arguments, memory);
    auto writes = ranges_maybe_written(use, call.arguments, memory);
    if (!reads || !writes) return false;
    if (empties_range(call.number, call.arguments) || leaves_range(call.number, call.arguments))
        writes->clear();
    // Code that the guest has just written may hold the instruction itself.
    const MemoryRange instruction{cpu.rip - syscall_bytes, cpu.rip};
    if (use.layout && !memory.give_stack(links_.process)) return false;
    return memory.give(std::array{instruction}, links_.process) &&
           memory.give(*reads, links_.process) && memory.give(*writes, links_.process);
}

// Takes what the call has changed. `was_current`: see CallRequest. Returns why the run must end.
std::optional<SampleEnd> ForwardedCalls::take(const Call& call, const CallAnswer& answer,
                                              bool was_current) {
    auto& memory = links_.memory;
    if (was_current) {
        memory.refresh_writable();
    } else if (call.facts) {
        const auto writes =
            written_ranges(call.facts->memory, call.arguments, answer.rax, memory, links_.process);
        if (empties_range(call.number, call.arguments) && !has_failed(answer.rax))
            memory.drop(named_range(call.arguments));
        else if (writes && !leaves_range(call.number, call.arguments))
            memory.take(*writes, links_.process);
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
        const auto user = read_value<timeval>(memory, {a[1]});
        if (!user) return;
        const auto ns = user->tv_sec * ns_per_s + user->tv_usec * ns_per_us + processor_ns();
        guest_store(memory, {a[1]}, timeval{ns / ns_per_s, ns % ns_per_s / ns_per_us});
    }
    if (call.number == SYS_times && a[0] != 0) {
        const auto user = read_value<clock_t>(memory, {a[0]});
        if (user) guest_store(memory, {a[0]}, *user + processor_ns() / ns_per_clock_tick);
    }
}

std::optional<SampleEnd> ForwardedCalls::on_vdso(VdsoFunction function, GuestThreads& threads,
                                                 GuestSpace& space, std::uint64_t) {
    auto& cpu = threads.cpu();
    const GuestAddress first{cpu[Gpr::rdi]}, second{cpu[Gpr::rsi]};
    const auto store = [&](GuestAddress at, const auto& value) {
        return at.value == 0 || guest_store(space, at, value);
    };
    std::uint64_t result = 0;
    bool stored = true;
    switch (function) {
        case VdsoFunction::clock_gettime: {
            const auto clock = static_cast<clockid_t>(cpu[Gpr::rdi]);
            timespec now = {};
            if (clock_gettime(clock, &now) != 0)
                result = static_cast<std::uint64_t>(-EINVAL);
            else if (is_processor_clock(static_cast<std::uint64_t>(clock)))
                stored = store(second, timespec_of(processor_ns()));
            else
                stored = store(second, now);
            break;
        }
        case VdsoFunction::gettimeofday: {
            const auto now = read_clock_ns(CLOCK_REALTIME);
            stored = store(first, timeval{now / ns_per_s, now % ns_per_s / ns_per_us});
            break;
        }
        case VdsoFunction::time:
            result = static_cast<std::uint64_t>(read_clock_ns(CLOCK_REALTIME_COARSE) / ns_per_s);
            stored = store(first, result);
            break;
        case VdsoFunction::clock_getres: {
            timespec resolution = {};
            if (clock_getres(static_cast<clockid_t>(cpu[Gpr::rdi]), &resolution) != 0)
                result = static_cast<std::uint64_t>(-EINVAL);
            else
                stored = store(second, resolution);
            break;
        }
        case VdsoFunction::getcpu: {
            unsigned processor = 0, node = 0;
            getcpu(&processor, &node);
            stored = store(first, processor) && store(second, node);
            break;
        }
    }
    if (!stored) return SampleEnd::fault;
    cpu[Gpr::rax] = result;
    return std::nullopt;
}

}  // namespace shadowprof
