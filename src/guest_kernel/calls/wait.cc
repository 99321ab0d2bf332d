// Calls that may wait. A sample does not wait: it ends as idle, or because it cannot know its
// input.
#include <poll.h>
#include <sys/select.h>
#include <time.h>

#include <algorithm>
#include <bitset>
#include <vector>

#include "guest_kernel/calls/recorded.h"
#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

constexpr std::uint32_t max_polled = 65536;

SyscallOutcome waits(std::string reason) {
    return ends(SampleEnd::idle, std::move(reason));
}

Emulated<timespec> load_duration(SyscallCall& call, GuestAddress at) {
    TRY_ASSIGN(auto time, load<timespec>(call, at));
    if (time.tv_sec < 0 || time.tv_nsec < 0 || time.tv_nsec >= ns_per_second)
        return failure(EINVAL);
    return time;
}

// If nothing is ready, the answer is 0 only if the caller did not want to wait.
SyscallOutcome nothing_ready(bool may_wait) {
    return may_wait ? waits("waits for input") : answer(0);
}

SyscallOutcome unknown_readiness() {
    return ends(SampleEnd::input, "asks whether there is input");
}

bool knows_readiness(FileKind kind) {
    return kind != FileKind::stream && kind != FileKind::terminal && kind != FileKind::directory;
}

// What poll(2) reports for a descriptor, if that is known. Output is always possible.
Emulated<std::int16_t> ready_events(SyscallCall& call, const pollfd& entry) {
    constexpr std::int16_t input = POLLIN | POLLRDNORM, output = POLLOUT | POLLWRNORM;
    constexpr std::int16_t other_input = POLLPRI | POLLRDBAND | POLLRDHUP;
    if (entry.fd < 0) return std::int16_t{0};
    auto found = call.sample.descriptors.find(entry.fd);
    if (!found && !found.error().end) return std::int16_t{POLLNVAL};
    if (!found) return found.error();
    const OpenFile& file = *(*found)->file;
    if (knows_readiness(file.kind()))
        return static_cast<std::int16_t>(entry.events & (input | output));
    if (entry.events & (input | other_input)) return unknown_readiness();
    return static_cast<std::int16_t>(entry.events & output);
}

SyscallOutcome poll_all(SyscallCall& call, bool may_wait) {
    std::uint32_t count = call.uint_arg(1);
    if (count > max_polled) return failure(EINVAL);
    std::vector<pollfd> entries(count);
    auto bytes = std::as_writable_bytes(std::span(entries));
    if (!call.space.read(call.address(0), bytes)) return failure(EFAULT);
    int ready = 0;
    for (pollfd& entry : entries) {
        TRY_ASSIGN(std::int16_t events, ready_events(call, entry));
        entry.revents = events;
        ready += events != 0;
    }
    if (ready == 0) return nothing_ready(may_wait);
    return call.space.write(call.address(0), bytes) ? answer(ready) : failure(EFAULT);
}

// A timeout passed by address: null waits for ever.
template <typename Time>
Emulated<bool> may_wait(SyscallCall& call, GuestAddress timeout) {
    if (timeout.value == 0) return true;
    TRY_ASSIGN(auto time, load<Time>(call, timeout));
    return !(time == Time{});
}

struct Duration {  // struct timespec or struct timeval
    std::int64_t seconds = 0, fraction = 0;
    friend bool operator==(const Duration&, const Duration&) = default;
};

using FdSet = std::bitset<FD_SETSIZE>;

// A set is an array of 64-bit words, long enough for the highest descriptor.
std::size_t set_bytes(int count) {
    return static_cast<std::size_t>(count + 63) / 64 * 8;
}

Emulated<FdSet> load_set(SyscallCall& call, GuestAddress at, int count) {
    FdSet set;
    if (at.value == 0) return set;
    std::array<std::uint64_t, FD_SETSIZE / 64> words{};
    auto bytes = std::as_writable_bytes(std::span(words)).first(set_bytes(count));
    if (!call.space.read(at, bytes)) return failure(EFAULT);
    for (std::size_t fd = 0; fd < static_cast<std::size_t>(count); ++fd)
        set[fd] = (words[fd / 64] >> (fd % 64)) & 1;
    return set;
}

bool store_set(SyscallCall& call, GuestAddress at, const FdSet& set, int count) {
    if (at.value == 0) return true;
    std::array<std::uint64_t, FD_SETSIZE / 64> words{};
    for (std::size_t fd = 0; fd < set.size(); ++fd)
        words[fd / 64] |= std::uint64_t{set[fd]} << (fd % 64);
    return call.space.write(at, std::as_bytes(std::span(words)).first(set_bytes(count)));
}

SyscallOutcome check_sets(SyscallCall& call, const FdSet& input, const FdSet& all) {
    for (std::size_t fd = 0; fd < all.size(); ++fd) {
        if (!all[fd]) continue;
        TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(static_cast<int>(fd)));
        if (input[fd] && !knows_readiness(descriptor->file->kind())) return unknown_readiness();
    }
    return answer(0);
}

}  // namespace

SyscallOutcome sys_wait(SyscallCall&) {
    return waits("waits for an event");
}

SyscallOutcome sys_wait_for_input(SyscallCall& call) {
    if (call.sample.rules.has_recorded_input) return recorded_wait(call);
    return ends(SampleEnd::input, "waits for input");
}

// The set of events has no effect: a sample's waits end it, or are answered with the program's.
SyscallOutcome sys_epoll_ctl(SyscallCall& call) {
    TRY(call.sample.descriptors.find(call.int_arg(0)));
    TRY(call.sample.descriptors.find(call.int_arg(2)));
    return answer(0);
}

SyscallOutcome sys_nanosleep(SyscallCall& call) {
    TRY(load_duration(call, call.address(0)));
    return waits("sleeps");
}

SyscallOutcome sys_clock_nanosleep(SyscallCall& call) {
    int clock = call.int_arg(0);
    TRY_ASSIGN(timespec time, load_duration(call, call.address(2)));
    if (clock < 0 || clock >= static_cast<int>(clock_count)) return failure(EINVAL);
    if (!(call.int_arg(1) & TIMER_ABSTIME)) return waits("sleeps");
    TRY_ASSIGN(std::int64_t now_ns,
               call.sample.clock_ns(static_cast<std::size_t>(clock), call.elapsed_ns));
    bool over = time.tv_sec < now_ns / ns_per_second ||
                (time.tv_sec == now_ns / ns_per_second && time.tv_nsec <= now_ns % ns_per_second);
    return over ? answer(0) : waits("sleeps");
}

SyscallOutcome sys_poll(SyscallCall& call) {
    if (call.sample.rules.has_recorded_input) return recorded_wait(call);
    return poll_all(call, call.int_arg(2) != 0);
}

SyscallOutcome sys_ppoll(SyscallCall& call) {
    if (call.sample.rules.has_recorded_input) return recorded_wait(call);
    if (call.arg(3) != 0) return ends(SampleEnd::unsafe_syscall, "waits with another signal mask");
    TRY_ASSIGN(bool wait, may_wait<Duration>(call, call.address(2)));
    return poll_all(call, wait);
}

SyscallOutcome sys_select(SyscallCall& call) {
    if (call.sample.rules.has_recorded_input) return recorded_wait(call);
    int count = call.int_arg(0);
    if (count < 0) return failure(EINVAL);
    count = std::min(count, FD_SETSIZE);
    TRY_ASSIGN(FdSet input, load_set(call, call.address(1), count));
    TRY_ASSIGN(FdSet output, load_set(call, call.address(2), count));
    TRY_ASSIGN(FdSet exceptional, load_set(call, call.address(3), count));
    TRY_ASSIGN(bool wait, may_wait<Duration>(call, call.address(4)));
    auto check = check_sets(call, input | exceptional, input | output | exceptional);
    if (check.end || check.value != 0) return check;
    std::size_t ready = input.count() + output.count();
    if (ready == 0 && wait) return nothing_ready(wait);
    bool stored = store_set(call, call.address(1), input, count) &&
                  store_set(call, call.address(2), output, count) &&
                  store_set(call, call.address(3), {}, count);
    return stored ? answer(ready) : failure(EFAULT);
}

}  // namespace shadowprof
