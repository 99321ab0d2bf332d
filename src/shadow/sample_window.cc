#include "shadow/sample_window.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"
#include "ptrace/proc.h"
#include "ptrace/process_memory.h"
#include "ptrace/thread_registers.h"

namespace shadowprof {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Between two looks.
constexpr microseconds window_look_period{300};
// A thread that had less of a processor since the last look says nothing about faults.
constexpr nanoseconds least_between_looks{150'000};
// Faults that take a smaller part of the time are few. Behind a fork one takes several times what
// it costs by itself: caches and address translations are lost with it.
constexpr double most_fault_share = 0.1;
constexpr double fault_aftermath = 4;
// A replica that lives for longer costs more than its window is worth.
constexpr milliseconds longest_wait{30};

// What is compared of the stack, in which callers' frames tell turns of a recursion apart, and of
// the memory that the other registers point to.
constexpr std::size_t stack_bytes = 4096;
constexpr std::size_t pointed_bytes = 64;

// No processor executes more: six in each cycle of 5 GHz.
constexpr std::uint64_t most_instructions_per_ns = 30;
constexpr std::uint64_t fewest_instructions = 100'000;

// The lowest page is never mapped, and the kernel's half is not the program's.
bool may_be_pointer(std::uint64_t value) {
    return value >= page_bytes && value < std::uint64_t{1} << 47;
}

// Another process's threads have none that can be read. Where one thread runs they are the same.
clockid_t processor_clock(pid_t pid) {
    return static_cast<clockid_t>(~static_cast<unsigned>(pid) << 3 | 2U);
}

// Those that differ between two states change with time.
void choose_telling_registers(AwaitedState& state, const CpuState& before) {
    state.telling.fill(static_cast<std::uint8_t>(Gpr::rsp));
    std::size_t chosen = 0;
    for (std::uint8_t i = 0; i < before.gpr.size() && chosen < state.telling.size(); ++i)
        if (before.gpr[i] != state.cpu.gpr[i]) state.telling[chosen++] = i;
}

}  // namespace

Result<WindowWatch> WindowWatch::begin(pid_t pid, pid_t tid, const CpuState& cpu,
                                       nanoseconds length, double fault_seconds) {
    WindowWatch watch(pid, tid, cpu, length, fault_seconds);
    const auto usage = watch.usage();
    if (!usage) return Error{ErrorCode::gone, 0, "the thread has ended"};
    watch.last_ = *usage;
    watch.began_cpu_ns_ = usage->cpu_ns;
    return watch;
}

WindowWatch::WindowWatch(pid_t pid, pid_t tid, const CpuState& cpu, nanoseconds length,
                         double fault_seconds)
    : pid_(pid),
      tid_(tid),
      length_(length),
      fault_seconds_(fault_seconds),
      last_cpu_(cpu),
      give_up_(Clock::now() + longest_wait + 2 * length),
      next_look_(Clock::now() + std::min<nanoseconds>(length, window_look_period)) {}

std::optional<WindowWatch::Usage> WindowWatch::usage() const {
    const auto stat = read_thread_stat(pid_, tid_);
    const auto cpu_ns = read_clock_ns(processor_clock(pid_));
    if (!stat || cpu_ns == 0) return std::nullopt;
    return Usage{cpu_ns, stat->minor_faults};
}

bool WindowWatch::look(Target& target, Clock::time_point now, std::vector<nanoseconds>& pauses) {
    const auto used = usage();
    if (!used || now >= give_up_ || !open_memory()) return false;
    const nanoseconds passed{used->cpu_ns - last_.cpu_ns};
    next_look_ = now + window_look_period;
    if (has_begun_) {
        if (passed >= length_) return mark_end(target, pauses);
        next_look_ = now + (length_ - passed);
        return true;
    }
    if (passed < std::min<nanoseconds>(length_, least_between_looks)) return true;
    if (!is_quiet(*used)) {
        last_ = *used;
        storms_ = true;
        return true;
    }
    has_begun_ = true;
    if (!storms_) return passed >= length_ ? mark_end(target, pauses) : true;
    begin_ = mark(target, pauses);
    if (!begin_) return false;
    last_ = begin_->usage;
    last_cpu_ = begin_->state.cpu;
    return true;
}

bool WindowWatch::open_memory() {
    if (memory_) return true;
    auto memory = open_process_memory(tid_, O_RDONLY);
    if (!memory) return false;
    memory_ = std::move(*memory);
    return true;
}

bool WindowWatch::is_quiet(const Usage& now) const {
    const auto faults = static_cast<double>(now.minor_faults - last_.minor_faults);
    const auto passed_seconds = static_cast<double>(now.cpu_ns - last_.cpu_ns) / 1e9;
    return faults * fault_seconds_ * fault_aftermath < passed_seconds * most_fault_share;
}

bool WindowWatch::mark_end(Target& target, std::vector<nanoseconds>& pauses) {
    end_ = mark(target, pauses);
    return false;
}

// Nothing: the thread sleeps, or has ended.
std::optional<WindowWatch::Mark> WindowWatch::mark(Target& target,
                                                   std::vector<nanoseconds>& pauses) {
    std::optional<Mark> made;
    {
        auto stop = target.stop(Target::Sleepers::leave_alone);
        if (!stop) return std::nullopt;
        const auto thread =
            std::ranges::find(stop->threads(), tid_, [](const auto& each) { return each.tid(); });
        if (!stop->in_group_stop() && thread != stop->threads().end()) {
            const auto snapshot = thread->snapshot();
            const auto used = usage();
            if (snapshot && used && !snapshot->blocked_syscall) {
                made.emplace(Mark{{}, *used});
                made->state.cpu = snapshot->cpu;
                read_memory(made->state);
            }
        }
    }
    pauses.push_back(target.last_pause());
    if (made) choose_telling_registers(made->state, last_cpu_);
    return made;
}

void WindowWatch::read_memory(AwaitedState& state) const {
    std::array<std::byte, stack_bytes> bytes;
    for (std::size_t i = 0; i < state.cpu.gpr.size(); ++i) {
        if (!may_be_pointer(state.cpu.gpr[i])) continue;
        const bool is_stack = i == static_cast<std::size_t>(Gpr::rsp);
        const auto wanted = is_stack ? stack_bytes : pointed_bytes;
        const auto got =
            pread(memory_.get(), bytes.data(), wanted, static_cast<off_t>(state.cpu.gpr[i]));
        if (got > 0)
            state.add_memory({state.cpu.gpr[i]},
                             std::span(bytes).first(static_cast<std::size_t>(got)));
    }
}

std::uint64_t WindowWatch::most_instructions() const {
    const auto cpu_ns = static_cast<std::uint64_t>(end_->usage.cpu_ns - began_cpu_ns_);
    return cpu_ns * most_instructions_per_ns + fewest_instructions;
}

std::optional<SampleWindow> WindowWatch::take() {
    if (!end_) return std::nullopt;
    SampleWindow window;
    const auto faults = static_cast<double>(end_->usage.minor_faults - last_.minor_faults);
    window.seconds =
        static_cast<double>(end_->usage.cpu_ns - last_.cpu_ns) / 1e9 - faults * fault_seconds_;
    if (window.seconds <= 0) return std::nullopt;
    if (begin_) window.states.push_back(begin_->state);
    window.states.push_back(end_->state);
    return window;
}

}  // namespace shadowprof
