#include "shadow/looks/thread_looks.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/clock.h"

namespace shadowprof {
namespace {

// How many of the threads that have run are asked for their processors, which takes ten
// microseconds each.
constexpr std::size_t max_processors_asked = 4;
// By how much looks are rarer while nothing runs.
constexpr double idle_factor = 4;
// How many files of threads are kept open, as descriptors are limited.
constexpr std::size_t max_files = 256;
constexpr std::chrono::nanoseconds longest_delay{200'000};
constexpr std::chrono::nanoseconds rarest_interval{1'000'000'000};
// A thread whose processor we took was on it until a moment before we could read the clock.
constexpr std::chrono::nanoseconds wait_tolerance{20'000};

// Of this thread. By the wall clock it would contain what others of the machine do on our
// processor.
std::chrono::nanoseconds own_cpu_time() {
    return std::chrono::nanoseconds(read_clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

double to_count(std::chrono::nanoseconds time) {
    return static_cast<double>(time.count());
}

}  // namespace

std::vector<SeenThread> ThreadLooks::look(const ProcessTree& processes, std::optional<int> here,
                                          Clock::time_point now) {
    if (is_too_late(now)) {
        skip(now);
        return {};
    }
    const auto cpu_before = own_cpu_time();
    const auto all = running(processes);
    for (const Candidate& each : all) kernel_share_.note(each.id.first, each.target->pid(), now);
    auto round = visit(all, here, now);
    const auto end = Clock::now();
    const auto own = own_cpu_time() - cpu_before - std::exchange(looked_, {});
    // A thread that waits for our processor is delayed by this time, too.
    paused_ += own;
    own_ += own;
    ++rounds_;
    weigh(round, now);
    last_ = now;
    plan_next(end, all.empty() ? idle_factor : 1);
    return std::move(round.seen);
}

// The kernel may let a thread go on for some milliseconds before it lets us have the processor,
// most often until the thread makes a system call. So such a moment is not a random one. Where most
// rounds are late, as for want of a privilege, they are better than none.
bool ThreadLooks::is_too_late(Clock::time_point now) {
    const bool is_late = next_ != Clock::time_point{} && now - next_ > longest_delay;
    late_ += is_late;
    return is_late && late_ <= rounds_;
}

void ThreadLooks::skip(Clock::time_point now) {
    plan_next(now, 1);
}

// A look stands for the time since the last round, multiplied by the reciprocal of the probability
// that its thread was chosen. A thread that had to wait for a processor ran for
// less. What was not found running is owed to the next looks.
void ThreadLooks::weigh(Round& round, Clock::time_point now) {
    const bool is_first = last_ == Clock::time_point{};
    const double since_ns = is_first ? 0 : to_count(now - last_);
    for (SeenThread& each : round.seen)
        each.time_ns =
            owed_.take(each.process, static_cast<std::uint64_t>(since_ns * round.expansion));
    std::erase_if(round.seen, [](const SeenThread& each) { return each.time_ns == 0; });
}

// While we are at work here, we have the processor of a thread, and those that it works with run
// out of work. So who runs at this moment says little. Where threads have run since the last look
// does. Each of the processors has the same chance, however many threads wait there.
std::optional<int> ThreadLooks::processor_to_visit(const ProcessTree& processes) {
    const auto cpu_before = own_cpu_time();
    const auto all = running(processes);
    auto chosen = choose(have_run(choose(all, max_threads_asked)), max_processors_asked);
    if (chosen.empty() && last_seen_)
        std::ranges::copy_if(all, std::back_inserter(chosen),
                             [&](const Candidate& each) { return each.id == *last_seen_; });
    if (chosen.empty()) chosen = choose(all, 1);
    std::set<int> processors;
    for (const Candidate& each : chosen)
        if (const auto stat = read_thread_stat(each.target->pid(), each.id.second))
            processors.insert(stat->cpu);
    own_ += own_cpu_time() - cpu_before;
    if (processors.empty()) return std::nullopt;
    std::uniform_int_distribution<std::ptrdiff_t> any(
        0, static_cast<std::ptrdiff_t>(processors.size()) - 1);
    return *std::next(processors.begin(), any(random_));
}

std::vector<SeenThread> ThreadLooks::pause(const ProcessTree& processes, Clock::time_point now) {
    if (last_ != Clock::time_point{})
        for (const auto& [number, process] : processes.processes())
            if (const Target* target = processes.traced(number))
                kernel_share_.note_now(number, target->pid(), now);
    kernel_share_.pause();
    owed_.forget_all();
    threads_.clear();
    next_ = last_ = {};
    return {};
}

// Returns the threads of processes that have run since the last round.
std::vector<ThreadLooks::Candidate> ThreadLooks::running(const ProcessTree& processes) {
    owed_.forget_ended(processes);
    std::vector<Candidate> all;
    for (const auto& [number, process] : processes.processes()) {
        Target* target = processes.traced(number);
        if (!target) continue;
        if (!owed_.note(number, target->pid(), last_ == Clock::time_point{})) continue;
        for (const pid_t tid : target->thread_ids()) all.push_back({{number, tid}, target});
    }
    std::erase_if(threads_, [&](const auto& each) {
        const auto at = std::ranges::lower_bound(all, each.first, {}, &Candidate::id);
        return at == all.end() || at->id != each.first;
    });
    return all;
}

std::vector<ThreadLooks::Candidate> ThreadLooks::choose(std::vector<Candidate> from,
                                                        std::size_t most) {
    if (from.size() <= most) return from;
    std::vector<Candidate> chosen;
    std::ranges::sample(from, std::back_inserter(chosen), static_cast<std::ptrdiff_t>(most),
                        random_);
    return chosen;
}

std::vector<ThreadLooks::Candidate> ThreadLooks::have_run(const std::vector<Candidate>& asked) {
    std::vector<Candidate> ran;
    for (const Candidate& each : asked) {
        Thread& known = thread(each);
        const auto runs = known.file.read();
        if (!runs) continue;
        if (std::exchange(known.ran_ns, runs->run_ns) != runs->run_ns) ran.push_back(each);
    }
    return ran;
}

// The file is kept open for the next time.
ThreadLooks::Thread& ThreadLooks::thread(const Candidate& of) {
    if (threads_.size() >= max_files && !threads_.contains(of.id)) threads_.clear();
    const auto found = threads_.find(of.id);
    if (found != threads_.end()) return found->second;
    return threads_.emplace(of.id, Thread{ThreadRunsFile(of.target->pid(), of.id.second)})
        .first->second;
}

std::vector<ThreadLooks::Candidate> ThreadLooks::active(const std::vector<Candidate>& asked) {
    std::vector<Candidate> active;
    std::ranges::copy_if(asked, std::back_inserter(active), [](const Candidate& each) {
        return each.target->is_active(each.id.second);
    });
    return active;
}

// The first thread found there. Others there are ready, and wait for the processor.
std::vector<ThreadLooks::Candidate> ThreadLooks::on_processor(
    int here, const std::vector<Candidate>& active) {
    for (const Candidate& each : active) {
        const auto stat = read_thread_stat(each.target->pid(), each.id.second);
        if (stat && stat->cpu == here) return {each};
    }
    return {};
}

void ThreadLooks::add_seen(Round& round, const Candidate& of, const ThreadLook& look,
                           const StackCopy& stack) {
    owed_.found(of.id.first);
    last_seen_ = of.id;
    round.seen.push_back({.process = of.id.first,
                          .pid = of.target->pid(),
                          .tid = of.id.second,
                          .exec_count = of.target->exec_count(),
                          .cpu = look.cpu,
                          .system_call = look.system_call,
                          .stack = &stack});
}

// Most threads of many sleep. So more are asked whether they run than are looked at.
ThreadLooks::Round ThreadLooks::visit(const std::vector<Candidate>& all, std::optional<int> here,
                                      Clock::time_point begin) {
    Round round;
    const auto asked = choose(all, max_threads_asked);
    for (const Candidate& each : asked)
        if (was_in_kernel(each.id)) add_seen(round, each, {}, stacks_.front());
    const auto running = active(asked);
    running_ = std::max<std::size_t>(running.size(), 1);
    const auto chosen = here ? on_processor(*here, running) : choose(running, max_threads_at_once);
    for (auto stack = stacks_.begin(); const Candidate& each : chosen) {
        if (!here && !each.target->is_active(each.id.second)) continue;
        if (const auto look = visit(each, *stack, begin)) add_seen(round, each, *look, *stack++);
    }
    const auto size_of = [](const auto& list) { return static_cast<double>(list.size()); };
    if (!chosen.empty())
        round.expansion = size_of(all) / size_of(asked) * size_of(running) / size_of(chosen);
    return round;
}

// Whether a thread that did not stop in time at the last visit was at work in the kernel. Otherwise
// it has waited for a processor for at least as long as we for it.
bool ThreadLooks::was_in_kernel(ThreadId id) {
    const auto found = threads_.find(id);
    if (found == threads_.end() || !found->second.late) return false;
    const auto before = std::exchange(found->second.late, std::nullopt);
    const auto now = found->second.file.read();
    if (now && now->wait_ns - before->wait_ns < to_ns(Target::longest_look)) return true;
    ++ready_;
    return false;
}

// Returns how the thread ran at `begin`; nothing if it did not. A thread that had to wait for a
// processor stops only when it has one, and the kernel then knows for how long it has waited.
std::optional<ThreadLook> ThreadLooks::visit(const Candidate& each, StackCopy& stack,
                                             Clock::time_point begin) {
    Thread& thread = this->thread(each);
    const auto before = thread.file.read();
    const auto look_begin = own_cpu_time();
    const auto look = each.target->look(each.id.second, stack, thread.stack_bytes);
    looked_ += own_cpu_time() - look_begin;
    if (!before || !look) return std::nullopt;
    if (!look->cpu) {
        thread.late = before.value();
        return std::nullopt;
    }
    const auto after = thread.file.read();
    const auto waited = after ? after->wait_ns - before->wait_ns : 0;
    const auto since_begin = Clock::now() - begin;
    if (std::chrono::nanoseconds(waited) > since_begin + wait_tolerance) {
        ++ready_;
        return std::nullopt;
    }
    ++stops_;
    paused_ += look->pause;
    return *look;
}

void ThreadLooks::copy_more_of(const SeenThread& seen) {
    const auto thread = threads_.find({seen.process, seen.tid});
    if (thread == threads_.end()) return;
    thread->second.stack_bytes = std::min(2 * thread->second.stack_bytes, StackCopy::max_bytes);
}

// A round is a look at one of the threads that run.
void ThreadLooks::plan_next(Clock::time_point now, double factor) {
    const auto rounds = static_cast<double>(std::max<std::uint64_t>(rounds_, 1));
    const auto pause_ns = to_count(paused_) / std::max(rounds, static_cast<double>(stops_));
    const double of_thread_ns = std::max(to_count(usual_interval), pause_ns / max_share_);
    const auto interval_ns = std::min(std::max(of_thread_ns / static_cast<double>(running_),
                                               to_count(own_) / rounds / max_own_share),
                                      to_count(rarest_interval));
    const double varied_ns =
        factor * interval_ns * std::uniform_real_distribution(0.5, 1.5)(random_);
    next_ = now + std::chrono::nanoseconds(static_cast<std::int64_t>(varied_ns));
}

}  // namespace shadowprof
