#include "shadow/exact/exact_run.h"

#include <poll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/clock.h"
#include "profile/statistics/random.h"
#include "ptrace/proc/proc.h"
#include "shadow/exact/exact_limits.h"

namespace shadowprof {
namespace {

constexpr std::chrono::milliseconds observation_period{50};
// Each needs an emulator's process.
constexpr std::size_t max_processes_at_once = 64;

// Becomes readable when any process may have a new status. Invalid if there can be none.
UniqueFd open_sigchld() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

ExactRun::ExactRun(const RunOptions& options, std::uint64_t seed, WaitHub& hub,
                   ModuleTable& modules, ProcessProfiles& profiles, const ProbeRequest* probes)
    : options_(options),
      seed_(seed),
      hub_(hub),
      modules_(modules),
      profiles_(profiles),
      probes_(probes),
      sigchld_(open_sigchld()) {}

Result<std::unique_ptr<ExactRun>> ExactRun::create(const RunOptions& options, std::uint64_t seed,
                                                   WaitHub& hub, ModuleTable& modules,
                                                   ProcessProfiles& profiles,
                                                   const ProbeRequest* probes) {
    std::unique_ptr<ExactRun> run(new ExactRun(options, seed, hub, modules, profiles, probes));
    if (!run->sigchld_) return errno_error("signalfd");
    TRY_ASSIGN(auto process, OwnedWorker::start(hub));
    run->idle_processes_.push_back(std::move(process));
    return run;
}

// An idle worker, or a new one.
Result<std::unique_ptr<ExactWorker>> ExactRun::take_worker(Number number, pid_t pid) {
    if (!idle_workers_.empty()) {
        auto worker = std::move(idle_workers_.back());
        idle_workers_.pop_back();
        return worker;
    }
    if (idle_processes_.empty()) {
        TRY_ASSIGN(auto started, OwnedWorker::start(hub_));
        idle_processes_.push_back(std::move(started));
    }
    auto process = std::move(idle_processes_.back());
    idle_processes_.pop_back();
    const auto [collected, parts] = profiles_.begin(number, pid);
    return std::make_unique<ExactWorker>(std::move(process), collected.add_collector(), modules_,
                                         parts, probes_, options_, seed_ + workers_started_++);
}

void ExactRun::keep(std::unique_ptr<ExactWorker> worker) {
    if (profiles_.are_separate())
        idle_processes_.push_back(std::move(worker->process));
    else
        idle_workers_.push_back(std::move(worker));
}

void ExactRun::run(Target& target, const ProgressListener& on_progress, int end_request) {
    target_ = &target;
    on_progress_ = on_progress;
    end_request_ = end_request;
    begin_ = Clock::now();
    next_progress_ = begin_ + progress_period;
    results_.begin(begin_, !options_.count_in.empty());
    results_.log().begin(0, target.pid(), std::nullopt, options_.command, begin_);
    followed_[0] = {};
    if (auto worker = take_worker(0, target.pid()))
        begin(0, {.time = {.is_virtual = options_.has_virtual_clock}}, std::move(*worker));
    follow_all();
    // A target that cannot be detached goes on when shadowprof ends.
    is_readable(end_request) ? (void)target.detach() : run_to_end(hub_, target);
    results_.log().end(0, target.end(), Clock::now());
    end_ = Clock::now();
}

// On the hardware a program sees the host's clocks.
double ExactRun::checked_share() const {
    if (options_.has_virtual_clock) return 0;
    return options_.check_percent.value_or(default_check_percent) / 100;
}

ForwardedOptions ExactRun::options_of(Number number, const Birth& birth) {
    return {.profiles = options_.profiles,
            .bursts = options_.bursts,
            .seed = number == 0 ? seed_ : mix64(seed_ ^ number),
            // The same order in each run, unless another is asked for.
            .turns_seed = options_.seed.value_or(0),
            .time = birth.time,
            .checked_share = checked_share(),
            .shares_memory = birth.shares_memory,
            .inherits_marks = number != 0,
            .cleared_at_end = birth.cleared_at_end,
            .refused = birth.refused,
            .is_alone = [this] { return followed_.size() == 1; },
            .is_given_up = [this] { return is_over_ || is_readable(end_request_); }};
}

void ExactRun::follow_all() {
    bool has_acted = false;
    while (!followed_.empty()) {
        // A status that came while another process was led on may have been taken with it.
        await(has_acted ? std::chrono::nanoseconds{} : signal_period);
        const bool looks = Clock::now() >= next_look_;
        has_acted = step_some(looks);
        if (!looks) continue;
        next_look_ = Clock::now() + signal_period;
        show_progress();
        note_end_of_target();
    }
}

// Lets all that can go on do so. Returns whether any did.
bool ExactRun::step_some(bool all) {
    auto numbers = std::exchange(ready_, {});
    for (const auto& [number, followed] : followed_)
        if (all || followed.process->run()->awaits().descriptor < 0) numbers.push_back(number);
    bool has_acted = false;
    for (const auto number : numbers)
        if (followed_.contains(number)) has_acted |= step(number);
    return has_acted;
}

bool ExactRun::step(Number number) {
    auto& followed = followed_.at(number);
    auto& process = *followed.process;
    const bool awaited_status = process.run()->awaits().descriptor < 0;
    const bool goes_on = process.step();
    adopt_children(number);
    note_programs(number, followed);
    const bool awaits_status = process.run()->awaits().descriptor < 0;
    if (!goes_on) finish(number);
    return !goes_on || !awaited_status || !awaits_status;
}

// Waits until a process may go on. Notes in ready_ whose workers have said something.
void ExactRun::await(std::chrono::nanoseconds longest) {
    std::vector<pollfd> descriptors;
    std::vector<Number> numbers;
    for (const auto& [number, followed] : followed_) {
        const auto awaited = followed.process->run()->awaits();
        if (awaited.until_ns)
            longest = std::min(longest, std::chrono::nanoseconds(*awaited.until_ns -
                                                                 read_clock_ns(CLOCK_MONOTONIC)));
        if (awaited.descriptor < 0) continue;
        descriptors.push_back({awaited.descriptor, POLLIN, 0});
        numbers.push_back(number);
    }
    if (numbers.size() < followed_.size()) descriptors.push_back({sigchld_.get(), POLLIN, 0});
    const timespec wait = {0, std::max<long>(longest.count(), 0)};
    if (ppoll(descriptors.data(), descriptors.size(), &wait, nullptr) <= 0) return;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        if (descriptors[i].revents != 0) ready_.push_back(numbers[i]);
    signalfd_siginfo seen;
    if (numbers.size() < descriptors.size() && descriptors.back().revents != 0)
        while (read(sigchld_.get(), &seen, sizeof seen) > 0) {
        }
}

void ExactRun::begin(Number number, const Birth& birth, std::unique_ptr<ExactWorker> worker) {
    auto& followed = followed_.at(number);
    auto& target = followed.born ? *followed.born : *target_;
    worker->trace.begin_process(number == 0 ? std::nullopt
                                            : std::optional(CodeView::of(target.pid())));
    worker->probes.new_program();
    followed.process =
        std::make_unique<ExactProcess>(target, std::move(worker), options_of(number, birth));
    if (!followed.process->begin()) finish(number);
}

void ExactRun::adopt_children(Number parent) {
    auto& process = *followed_.at(parent).process;
    for (const auto& child : process.run()->process().take_children()) {
        const auto number = next_number_++;
        const auto parent_pid = process.target().pid();
        const bool shares = have_same_memory(child.pid, parent_pid).value_or(child.by_vfork);
        auto& log = results_.log();
        log.begin(number, child.pid, parent_pid, log.command(parent), Clock::now());
        followed_[number].born = Target::take_born(hub_, child.pid, shares);
        auto worker = worker_for_child(number, child.pid, shares && !child.by_vfork);
        if (worker) {
            begin(number, {shares, child.cleared_at_end, child.refused, process.run()->time()},
                  std::move(*worker));
            continue;
        }
        results_.add_unfollowed(number, child.pid, worker.error().message);
        log.end(number, std::nullopt, Clock::now());
        followed_.erase(number);
    }
}

Result<std::unique_ptr<ExactWorker>> ExactRun::worker_for_child(Number number, pid_t pid,
                                                                bool goes_on_in_same_memory) {
    if (goes_on_in_same_memory)
        return Error{ErrorCode::unsupported, 0,
                     "it runs in the memory of its parent at the same time"};
    if (followed_.size() > max_processes_at_once)
        return Error{ErrorCode::unsupported, 0,
                     fmt::format("more than {} processes at once", max_processes_at_once)};
    return take_worker(number, pid);
}

void ExactRun::note_programs(Number number, Followed& followed) {
    const auto executed = followed.process->run()->executed_programs();
    if (std::exchange(followed.executed_programs, executed) == executed) return;
    const auto pid = followed.process->target().pid();
    if (const auto command = read_command(pid)) results_.note_program(number, pid, *command);
}

void ExactRun::finish(Number number) {
    auto node = followed_.extract(number);
    auto& followed = node.mapped();
    auto& target = followed.process->target();
    auto outcome = followed.process->end();
    if (outcome.worker) keep(std::move(outcome.worker));
    results_.add(number, target.pid(), outcome);
    using enum ExactProcess::Fate;
    const bool is_ending = outcome.fate == ended || outcome.fate == killed;
    if (number == 0) {
        is_over_ = is_ending;
        return end_profile(number, target, outcome);
    }
    while (is_ending && !target.end()) {
        const auto status = hub_.wait_for(target.pid());
        if (!status) break;
        static_cast<void>(target.handle({target.pid(), *status}));
    }
    results_.log().end(number, target.end(), Clock::now());
    end_profile(number, target, outcome);
}

// If processes have profiles of their own, this is one.
void ExactRun::end_profile(Number number, const Target& target,
                           const ExactProcess::Outcome& outcome) {
    if (!profiles_.are_separate()) return;
    const auto command = results_.log().command(number);
    const auto now = Clock::now();
    ExactResults one;
    one.begin(begin_, !options_.count_in.empty());
    one.log().begin(0, target.pid(), std::nullopt, command, begin_);
    one.add(0, target.pid(), outcome);
    one.log().end(0, target.end(), now);
    Profile profile;
    one.fill(profile, now);
    profile.run.command = command;
    profile.run.pid = target.pid();
    profile.run.seconds = std::chrono::duration<double>(now - begin_).count();
    profiles_.end(number, std::move(profile));
}

// A target that was let go may end while other processes are followed.
void ExactRun::note_end_of_target() {
    if (!followed_.contains(0) && has_thread_ended(target_->pid(), target_->pid())) is_over_ = true;
}

void ExactRun::show_progress() {
    const auto now = Clock::now();
    if (!on_progress_ || now < next_progress_) return;
    next_progress_ = now + progress_period;
    auto intervals = results_.intervals(), instructions = results_.instructions();
    for (const auto& [number, followed] : followed_) {
        intervals += followed.process->intervals();
        instructions += followed.process->instructions();
    }
    const std::chrono::duration<double> seconds = now - begin_;
    on_progress_({seconds.count(), intervals, instructions, "interval"});
}

void ExactRun::fill(Profile& profile) const {
    results_.fill(profile, end_);
    profile.run.seconds = std::chrono::duration<double>(end_ - begin_).count();
}

void run_to_end(WaitHub& hub, Target& target) {
    // The target is mostly detached already, where it stood still, which it cannot notice.
    // Otherwise it is stopped once more to be detached.
    const auto handle_all = [&] {
        while (const auto event = hub.poll()) (void)target.handle(*event);
    };
    target.resume();
    handle_all();
    (void)target.detach();
    while (true) {
        // This includes threads that could not be detached, as wait_for() sees the process alone.
        handle_all();
        if (target.end()) return;
        const auto status = hub.wait_for(target.pid(), observation_period);
        if (!status) return;
        if (*status) hub.put_back({target.pid(), **status});
    }
}

}  // namespace shadowprof
