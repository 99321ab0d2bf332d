#include "shadow/verify/interval_run.h"

#include <algorithm>
#include <array>

#include "ptrace/thread/thread_registers.h"
#include "shadow/exact/exact_limits.h"
#include "shadow/verify/narrowing.h"

namespace shadowprof {
namespace {

// An interval is cut before a block that is rare among this many.
constexpr std::uint64_t longest_cut_window = std::uint64_t{4} << 20;
constexpr std::uint64_t shortest_cut_window = 1024;
// The limit if the program may wait for a signal that comes after some processor time, as it uses
// none while it is emulated.
constexpr std::uint64_t longest_awaiting_interval = 20'000'000;
constexpr std::uint64_t cut_windows_in_limit = 32;

// Programs have no breakpoints in the kernel's half of the address space.
constexpr GuestAddress highest_breakpoint{0x7fff'ffff'ffff};

}  // namespace

IntervalRun::IntervalRun(ScopedStop& stop, OwnedWorker& worker, TraceConsumer& consumer,
                         const IntervalOptions& options, ExactStats& stats,
                         std::vector<Divergence>& divergences)
    : stop_(stop),
      thread_(stop.threads().front()),
      worker_(worker),
      consumer_(consumer),
      options_(options),
      stats_(stats),
      divergences_(divergences),
      breakpoints_(measure_breakpoint_kind(stop.target().hub())),
      native_(stop.target(), thread_, breakpoints_) {}

Result<void> IntervalRun::run() {
    auto followed = follow();
    if (!followed && followed.error().code == ErrorCode::gone) return followed;
    const auto released = native_.release();
    return followed ? released : followed;
}

Result<void> IntervalRun::follow() {
    while (true) {
        if (!bound_interval()) return {};
        TRY_ASSIGN(const bool goes_on, interval());
        if (!goes_on) return {};
    }
}

// Returns false if no more instructions may be followed.
bool IntervalRun::bound_interval() {
    bounds_ = {.cut_window = longest_cut_window};
    if (options_.on_interval) options_.on_interval();

    auto left = native_.awaits_processor_time() ? longest_awaiting_interval : RunLimits::unlimited;
    if (options_.instructions_left) {
        consumer_.drain();
        left = std::min(left, options_.instructions_left());
    }
    if (left == RunLimits::unlimited) return true;
    if (left == 0) {
        stats_.stopped_early = "the limit of instructions was reached";
        return false;
    }
    bounds_ = {left,
               std::clamp(left / cut_windows_in_limit, shortest_cut_window, longest_cut_window)};
    return true;
}

// Emulates to the next boundary, lets the program run there, compares, and passes the boundary.
// Returns false if the program cannot be followed any further.
Result<bool> IntervalRun::interval() {
    TRY_ASSIGN(const auto start, thread_.snapshot());
    if (start.cpu.rflags & trap_flag) {
        // The program gets a SIGTRAP for each instruction, which only the hardware can do.
        TRY_ASSIGN(auto passage, run_to_next_call("the program single-steps itself"));
        return prepare_next(std::move(passage));
    }
    TRY_ASSIGN(rseq_, RseqWatch::begin(thread_));
    has_memory_sharer_ = native_.has_memory_sharer();
    if (wants_replica()) TRY(take_replica());
    const auto diverged_before = stats_.diverged;
    // The program may have died of the divergence.
    auto result = interval_from(start.cpu);
    if (stats_.diverged != diverged_before) narrow_down(start.cpu);
    replica_.reset();
    return result;
}

Result<bool> IntervalRun::interval_from(const CpuState& start) {
    TRY_ASSIGN(const auto emulated, emulate(start));
    const auto boundary = boundary_of(emulated);
    if (!boundary) {
        stats_.stopped_early = fmt::format("the emulation ended at {:#x} by {}",
                                           emulated.cpu.rip.value, name(emulated.result.end));
        return false;
    }
    const bool is_out_of_reach =
        *boundary == Boundary::vdso_call && emulated.cpu.rip > highest_breakpoint;
    Result<Arrival> arrival = Arrival::out_of_reach;
    if (!is_out_of_reach) arrival = run_natively_to(*boundary, emulated);
    if (!arrival) return std::move(arrival).error();
    ++stats_.intervals;
    ++stats_.compared;
    native_end_ = {};
    if (*arrival == Arrival::there) {
        TRY_ASSIGN(auto found, compare(*boundary, emulated, &native_end_.bytes));
        if (!found.empty()) note_difference(std::move(found));
    }
    TRY_ASSIGN(auto passage, pass_end(*arrival, *boundary, emulated));
    if (emulated.worker_exhausted) TRY(replace_worker());
    return prepare_next(std::move(passage));
}

// Whether the kernel has written below the stack's old end, which means that it has grown.
bool IntervalRun::has_stack_grown(const std::vector<MemoryRange>& writes) const {
    return std::ranges::any_of(writes, [&](const MemoryRange& range) {
        const auto* next = map_.find_at_or_after(range.start);
        return next && range.start < next->start && next->name == "[stack]" &&
               range.start < range.end;
    });
}

// Notes what the next interval must know of what happened in between. Returns false if the program
// cannot be followed any further.
Result<bool> IntervalRun::prepare_next(Passage passage) {
    stats_.signals = native_.signals_held();
    if (!passage.blocked.empty()) {
        stats_.stopped_early = std::move(passage.blocked);
        return false;
    }
    const bool all =
        has_memory_sharer_ || std::ranges::any_of(passage.writes.ranges,
                                                  [](const auto& range) { return range.is_all(); });
    changed_ = all ? std::vector{MemoryRange::all()} : std::move(passage.writes.ranges);
    layout_changed_ |= passage.writes.layout || has_stack_grown(changed_);
    anew_ |= passage.executed;
    if (passage.executed) stop_.target().end_companion();
    jumped_ |= passage.jumped || passage.executed;
    return true;
}

// Whether others may write to the program's memory.
bool IntervalRun::shares_memory() const {
    return has_memory_sharer_ || std::ranges::any_of(map_.mappings(), [](const Mapping& m) {
               return m.shared && m.writable;
           });
}

bool IntervalRun::wants_replica() const {
    return options_.narrow == Narrow::always ||
           (options_.narrow == Narrow::after_the_first && stats_.diverged != 0);
}

Result<void> IntervalRun::take_replica() {
    // A signal that stopped the thread here is a breakpoint's or a step's.
    TRY(thread_.settle(StoppedThread::OwnSignal::dropped));
    TRY_ASSIGN(syscall_instruction_, stop_.target().syscall_instruction());
    alignas(64) std::array<std::byte, max_xstate_bytes> buffer;
    TRY_ASSIGN(const auto extended, thread_.extended_state(buffer));
    TRY_ASSIGN(auto replica, Replica::fork(stop_));
    // A replica has the fork server's extended state, but narrowing needs the interval's.
    TRY(replica.thread().set_extended_state(extended));
    replica_.emplace(std::move(replica));
    return {};
}

// Only adds lines to the last divergence.
void IntervalRun::narrow_down(const CpuState& start) {
    if (divergences_.size() != stats_.diverged) return;
    auto& lines = divergences_.back().differences;
    if (!replica_ && options_.narrow == Narrow::after_the_first)
        lines.emplace_back(
            "not narrowed down: give --narrow to find the first wrong instruction of the first "
            "divergence");
    if (!replica_) return;
    if (shares_memory()) {
        lines.emplace_back("not narrowed down: the program shares memory with other processes");
        return;
    }
    Narrowing narrowing(*worker_, std::move(*replica_), start, native_end_, map_,
                        syscall_instruction_, options_.flipped, breakpoints_);
    const auto found = narrowing.run();
    if (found)
        lines.insert(lines.end(), found->begin(), found->end());
    else
        lines.push_back("not narrowed down: " + found.error().message);
}

// Emulation and hardware have diverged, which may have a reason outside of both.
void IntervalRun::note_difference(std::vector<std::string> differences) {
    if (rseq_->may_have_parted(thread_))
        differences.emplace_back(
            "perhaps because the thread was moved to another processor, whose number it can read, "
            "or because a restartable sequence was aborted");
    if (has_memory_sharer_)
        differences.emplace_back("perhaps by a child that runs in the same memory");
    note_divergence(std::move(differences));
}

void IntervalRun::note_divergence(std::vector<std::string> differences) {
    ++stats_.diverged;
    if (divergences_.size() < kept_divergences)
        divergences_.push_back({stats_.intervals, std::move(differences)});
    anew_ = jumped_ = true;
}

}  // namespace shadowprof
