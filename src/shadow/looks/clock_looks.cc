#include "shadow/looks/clock_looks.h"

#include <algorithm>

#include "ptrace/clock/kernel_symbols.h"

namespace shadowprof {
namespace {

// How often ticks are read.
constexpr std::chrono::nanoseconds usual_reading{50'000'000};
constexpr std::chrono::nanoseconds longest_period{1'000'000'000};
// What a tick takes of a thread's time. It cannot be measured from outside. In virtual machines it
// was 12 to 25 us, on bare machines it is a fifth of that.
constexpr std::chrono::nanoseconds tick_price{20'000};
// How many stacks are kept from a look to the next one.
constexpr std::size_t max_kept_stacks = 1024;
// The outermost calls in the kernel tell why a thread is there.
constexpr std::size_t kernel_calls_kept = 4;

}  // namespace

Result<std::unique_ptr<ClockLooks>> ClockLooks::open(std::uint64_t seed, double max_share) {
    const double rarer = std::max(usual_share / max_share, 1.0);
    const auto period = std::min(std::chrono::nanoseconds(static_cast<std::int64_t>(
                                     static_cast<double>(usual_period.count()) * rarer)),
                                 longest_period);
    // Without them, system calls would have no names, which stops know.
    if (!KernelSymbols::are_readable())
        return Error{ErrorCode::permission, 0, "/proc/kallsyms has no addresses of functions"};
    TRY_ASSIGN(auto events, ClockEvents::open(period));
    std::unique_ptr<ClockLooks> looks(new ClockLooks(seed, period, std::move(events)));
    for (std::size_t i = 0; i < looks->events_.processors(); ++i)
        looks->events_.change_period(looks->varied(period));
    return looks;
}

std::vector<SeenThread> ClockLooks::look(const ProcessTree& processes, std::optional<int>,
                                         Clock::time_point now) {
    if (since_ == Clock::time_point{}) {
        since_ = last_ = now;
        events_.run(true);
    }
    auto seen = read(processes, now);
    events_.change_period(varied(period_));
    next_ = now + varied(usual_reading);
    return seen;
}

std::vector<SeenThread> ClockLooks::read(const ProcessTree& processes, Clock::time_point now) {
    // The last ticks of processes that have ended since are still to be read.
    auto of_ticks = living(processes);
    for (auto& [pid, process] : std::exchange(processes_, of_ticks))
        of_ticks.try_emplace(pid, std::move(process));
    std::vector<SeenThread> all;
    stacks_used_ = 0;
    lost_ += events_.read([&](const ClockEvent& event) { add_seen(all, of_ticks, event); });
    charge(all.size(), now - std::exchange(last_, now));
    for (SeenThread& each : all) each.time_ns = owed_.take(each.process, each.time_ns);
    std::erase_if(all, [](const SeenThread& each) { return each.time_ns == 0; });
    return all;
}

std::vector<SeenThread> ClockLooks::pause(const ProcessTree& processes, Clock::time_point now) {
    if (since_ == Clock::time_point{}) return {};
    events_.run(false);
    auto seen = read(processes, now);
    owed_.forget_all();
    processes_.clear();
    next_ = since_ = {};
    return seen;
}

// Where several processors run the program, each tick delays one of its threads. So the whole is
// delayed by those of one processor.
void ClockLooks::charge(std::size_t ticks, std::chrono::nanoseconds time) {
    const auto of_one_processor = static_cast<std::size_t>(time / period_ + 1);
    paused_ += std::min(ticks, of_one_processor) * tick_price;
}

// Returns the processes that ticks may be of. Those that were let go are among them.
ClockLooks::Processes ClockLooks::living(const ProcessTree& processes) {
    owed_.forget_ended(processes);
    Processes living;
    for (const auto& [number, each] : processes.processes()) {
        Target* target = each.target;
        if (target->end() || target->is_detached()) continue;
        owed_.note(number, target->pid(), processes_.empty());
        const auto last = processes_.find(target->pid());
        Process& process = living[target->pid()];
        process.number = number;
        process.exec_count = target->exec_count();
        process.has_changed =
            last != processes_.end() && last->second.exec_count != process.exec_count;
        for (const auto& stop : target->take_stop_times())
            process.stops.emplace_back(stop.began, stop.ended);
    }
    return living;
}

void ClockLooks::add_seen(std::vector<SeenThread>& all, const Processes& processes,
                          const ClockEvent& event) {
    const auto found = processes.find(event.pid);
    if (found == processes.end() || event.time < since_) return;
    const Process& process = found->second;
    const bool is_ours = std::ranges::any_of(process.stops, [&](const auto& stop) {
        return stop.first <= event.time && event.time <= stop.second;
    });
    // Without its registers, a thread has no program any more.
    if (is_ours || process.has_changed || event.user_registers.empty()) return;
    if (stacks_used_ >= max_kept_stacks) {
        ++lost_;
        return;
    }
    if (stacks_used_ == stacks_.size()) stacks_.emplace_back();
    StackCopy& stack = stacks_[stacks_used_++];
    SeenThread& seen = all.emplace_back();
    seen.process = process.number;
    seen.pid = event.pid;
    seen.tid = event.tid;
    seen.exec_count = process.exec_count;
    const CpuState& cpu = seen.cpu.emplace(event.cpu_state());
    stack.set({cpu[Gpr::rsp]}, event.stack, ClockEvents::stack_bytes);
    if (event.is_in_kernel()) seen.kernel_calls = event.outer_kernel_calls(kernel_calls_kept);
    seen.stack = &stack;
    seen.time_ns = static_cast<std::uint64_t>(event.period.count());
    owed_.found(process.number);
}

// Within a quarter.
std::chrono::nanoseconds ClockLooks::varied(std::chrono::nanoseconds time) {
    const double factor = std::uniform_real_distribution(0.75, 1.25)(random_);
    return std::chrono::nanoseconds(
        static_cast<std::int64_t>(factor * static_cast<double>(time.count())));
}

}  // namespace shadowprof
