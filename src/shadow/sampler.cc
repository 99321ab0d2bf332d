#include "shadow/sampler.h"

#include <poll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <csignal>

#include "base/readable.h"
#include "ptrace/proc.h"
#include "shadow/value_bursts.h"

namespace shadowprof {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// How long samples may go on after the target's end, and workers after the last sample.
constexpr milliseconds drain_limit{5000};
// The same when the user wants an end.
constexpr milliseconds hurried_limit{1000};
// A target that was idle so often is looked at before it is stopped, and left alone while it
// sleeps. One that sleeps now and then is not: threads that run for shorter than a stop takes would
// be sampled too seldom.
constexpr unsigned most_idle_stops = 8;
constexpr milliseconds progress_period{250};
constexpr int longest_sleep_ms = 250;
// So often the target may change its mappings just before a stop.
constexpr int most_unforked_changes = 4;

std::uint64_t to_ns(Sampler::Clock::duration d) {
    return static_cast<std::uint64_t>(duration_cast<nanoseconds>(d).count());
}

void add(std::map<std::string, std::uint64_t>& counters, const WorkerCounters& more) {
    for (const auto& [name, counter] : worker_counters)
        counters[std::string(name)] += more.*counter;
}

}  // namespace

Sampler::Sampler(const RunOptions& options, std::uint64_t seed, WaitHub& hub, ModuleTable& modules,
                 ProcessProfile& profile)
    : options_(options),
      hub_(hub),
      modules_(modules),
      profile_(profile),
      random_(seed),
      schedule_(options.load, !options.load_is_asked_for, random_()),
      costs_(measure_fault_price_ns(hub)) {
    stats_.mode = "shadow";
}

Result<std::unique_ptr<Sampler>> Sampler::create(const RunOptions& options, std::uint64_t seed,
                                                 WaitHub& hub, ModuleTable& modules,
                                                 ProcessProfile& profile) {
    std::unique_ptr<Sampler> sampler(new Sampler(options, seed, hub, modules, profile));
    TRY_ASSIGN(sampler->events_, RunnerEvents::create());
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sampler->child_signals_.reset(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!sampler->child_signals_) return errno_error("signalfd");
    TRY(sampler->add_runner());
    return sampler;
}

Sampler::~Sampler() {
    active_.clear();
    for (auto& runner : runners_) {
        const pid_t worker = runner->worker_pid();
        runner.reset();
        hub_.discard(worker);
    }
    const auto limit = Clock::now() + drain_limit;
    while (hub_.discarded() && Clock::now() < limit) {
        hub_.reap_discarded();
        if (hub_.discarded()) poll(nullptr, 0, 1);
    }
}

Result<void> Sampler::add_runner() {
    TRY_ASSIGN(auto runner, SampleRunner::start(*events_, profile_.add_collector(), modules_));
    runners_.push_back(std::move(runner));
    return {};
}

Result<void> Sampler::run(Target& target, const ProgressListener& on_progress,
                          const SamplingEnd& end) {
    target_pid_ = target.pid();
    begin_ = Clock::now();
    schedule_.begin(begin_ + options_.delay);
    const auto result = loop(target, on_progress, end);
    end_ = Clock::now();
    if (give_up_) active_.clear();
    return result;
}

Result<void> Sampler::loop(Target& target, const ProgressListener& on_progress,
                           const SamplingEnd& end) {
    auto next_progress = begin_ + progress_period;
    while (true) {
        take_statuses(target);
        take_runner_events();
        if (target.end()) return {};
        if (!target.is_supported() && !dissolved_) {
            dissolved_ = true;
            ++refusals_["the target executed a program that is not for x86-64"];
            active_.clear();
            TRY(target.detach());
        }
        const auto now = Clock::now();
        look_for_end(end, now);
        if (give_up_ && (!is_busy() || dissolved_ || now >= *give_up_)) return {};
        if (wants_sample(now)) {
            try_sample(target);
            continue;
        }
        if (on_progress && now >= next_progress) {
            next_progress = now + progress_period;
            on_progress({std::chrono::duration<double>(now - begin_).count(), stats_.samples,
                         stats_.instructions});
        }
        pollfd waiting[] = {{child_signals_.get(), POLLIN, 0},
                            {events_->fd(), POLLIN, 0},
                            {give_up_ ? -1 : end.request_fd, POLLIN, 0}};
        poll(waiting, std::size(waiting), sleep_ms(now));
        signalfd_siginfo seen;
        while (read(child_signals_.get(), &seen, sizeof seen) > 0) {
        }
    }
}

int Sampler::sleep_ms(Clock::time_point now) const {
    if (dissolved_) return longest_sleep_ms;
    const auto left = duration_cast<milliseconds>(schedule_.next_start() - now).count() + 1;
    return static_cast<int>(std::clamp<long>(left, 1, longest_sleep_ms));
}

void Sampler::take_statuses(Target& target) {
    // Statuses that are not the target's are of workers, whose end their runners notice.
    while (const auto event = hub_.poll()) (void)target.handle(*event);
}

void Sampler::take_runner_events() {
    while (const auto event = events_->take()) {
        switch (event->kind) {
            case RunnerEvent::Kind::emulated:
                release(*event->runner);
                break;
            case RunnerEvent::Kind::step:
                on_step(*event->runner);
                break;
            case RunnerEvent::Kind::finished:
                on_finished(*event->runner);
                break;
        }
    }
}

std::list<Sampler::ActiveSample>::iterator Sampler::find_active(const SampleRunner& runner) {
    return std::find_if(active_.begin(), active_.end(),
                        [&](const auto& sample) { return sample.runner == &runner; });
}

// The replica dies as soon as nobody reads it: until then the target pays for what it writes.
void Sampler::release(SampleRunner& runner) {
    const auto it = find_active(runner);
    if (it == active_.end()) return;
    const auto lifetime = Clock::now() - it->start;
    schedule_.on_end(lifetime);
    stats_.counters["replica_lifetime_ns"] += to_ns(lifetime);
    active_.erase(it);
}

void Sampler::on_step(SampleRunner& runner) {
    auto cpu = runner.step().cpu;
    const auto it = find_active(runner);
    if (it == active_.end()) return runner.answer_step(cpu, SampleEnd::replica_lost);
    auto& replica = it->replica;
    for (const auto& page : runner.step().pages)
        if (!replica.write(page.address, page.bytes))
            return runner.answer_step(cpu, SampleEnd::replica_lost);
    const auto stepped = replica.single_step(cpu);
    if (!stepped) return runner.answer_step(cpu, SampleEnd::replica_lost);
    switch (stepped->end) {
        case StepEnd::done:
            return runner.answer_step(cpu, std::nullopt);
        case StepEnd::syscall:
            return runner.answer_step(cpu, SampleEnd::unsafe_syscall);
        case StepEnd::fault:
            return runner.answer_step(cpu, SampleEnd::fault);
    }
}

void Sampler::on_finished(SampleRunner& runner) {
    release(runner);
    const auto report = runner.take_report();
    ++stats_.samples;
    stats_.instructions += report.instructions;
    stats_.single_stepped += report.single_stepped;
    stats_.emulation_seconds +=
        static_cast<double>(report.counters.cpu_ns + report.collector_cpu_ns) / 1e9;
    stats_.counters["collector_cpu_ns"] += report.collector_cpu_ns;
    ++stats_.ended[std::string(name(report.end))];
    add(stats_.counters, report.counters);
    look_for_unforked(report);
    damaged_ += report.trace_damaged;
    if (report.syscalls) {
        add_counts(report.syscalls->counts, syscalls_);
        if (!report.syscalls->end_reason.empty()) ++end_reasons_[report.syscalls->end_reason];
    }
    if (!report.error.empty()) ++end_reasons_["worker lost: " + report.error];
    if (!report.replace_worker) return;
    hub_.discard(runner.worker_pid());
    if (const auto replaced = runner.replace_worker(); !replaced) note_refusal(replaced.error());
}

bool Sampler::may_take_more(Clock::time_point now) const {
    if (options_.duration && now >= begin_ + options_.delay + *options_.duration) return false;
    return !options_.max_samples || started_ < *options_.max_samples;
}

bool Sampler::wants_sample(Clock::time_point now) const {
    return !dissolved_ && !give_up_ && now >= schedule_.next_start() && may_take_more(now);
}

void Sampler::look_for_end(const SamplingEnd& end, Clock::time_point now) {
    const auto by = [this](Clock::time_point limit) {
        give_up_ = std::min(give_up_.value_or(limit), limit);
    };
    if (is_readable(end.request_fd)) by(now + hurried_limit);
    if (end.with_last_sample && (dissolved_ || !may_take_more(now))) by(now + drain_limit);
}

bool Sampler::is_busy() const {
    return std::any_of(runners_.begin(), runners_.end(),
                       [](const auto& runner) { return !runner->is_idle(); });
}

SampleRunner* Sampler::idle_runner() {
    for (auto& runner : runners_)
        if (runner->is_idle()) return runner.get();
    if (runners_.size() >= schedule_.max_active()) return nullptr;
    if (const auto added = add_runner(); !added) {
        note_refusal(added.error());
        return nullptr;
    }
    return runners_.back().get();
}

void Sampler::try_sample(Target& target) {
    auto* runner = idle_runner();
    if (!runner) return schedule_.on_start(Clock::now());
    const auto taken = take_sample(target, *runner);
    if (taken) {
        *taken == Taken::later ? schedule_.soon(Clock::now()) : schedule_.on_start(Clock::now());
    } else {
        note_refusal(taken.error());
        schedule_.on_refusal(Clock::now());
    }
}

Result<Sampler::Taken> Sampler::take_sample(Target& target, SampleRunner& runner) {
    if (idle_in_a_row_ >= most_idle_stops && target.is_asleep()) return note_idle();
    if (has_unforked_ && !read_unforked()) return Taken::later;
    const auto start = Clock::now();
    SampleJob job;
    std::optional<Replica> replica;
    bool in_vdso = false;
    {
        TRY_ASSIGN(auto stop, target.stop());
        if (has_unforked_ && !check_unforked(target)) return Taken::later;
        const auto thread = stop.in_group_stop() ? std::nullopt : choose_thread(stop, target.pid());
        in_vdso = thread && is_in_vdso(target, thread->cpu.rip);
        if (thread && !in_vdso) {
            job.cpu = thread->cpu;
            TRY_ASSIGN(job.captured, CapturedProcess::take(target.pid(), thread->tid));
            const auto fork_start = Clock::now();
            TRY_ASSIGN(auto forked, Replica::fork(stop, unforked_.ranges));
            replica.emplace(std::move(forked));
            costs_.add_fork(to_ns(Clock::now() - fork_start));
        }
    }
    costs_.add_pause(to_ns(Clock::now() - start));
    if (in_vdso) return Taken::later;
    if (!replica) return note_idle();
    idle_in_a_row_ = 0;
    last_pause_ = Clock::now() - start;
    count_faults();
    job.replica = replica->pid();
    job.memory_fd = replica->memory_fd();
    job.seed = random_();
    job.limits = {.instructions = options_.sample_size,
                  .value_period = options_.profiles.values ? value_burst_period : 0,
                  .value_instructions = options_.profiles.values ? value_burst_instructions : 0,
                  .seed = random_()};
    active_.push_back({std::move(*replica), Clock::now(), &runner});
    ++started_;
    runner.begin(std::move(job));
    return Taken::yes;
}

Sampler::Taken Sampler::note_idle() {
    ++idle_in_a_row_;
    ++stats_.samples;
    ++stats_.ended[std::string(name(SampleEnd::idle))];
    return Taken::idle;
}

bool Sampler::is_in_vdso(const Target& target, GuestAddress pc) {
    if (!vdso_ || vdso_exec_count_ != target.exec_count()) {
        const auto map = read_memory_map(target.pid());
        if (!map) return false;
        vdso_exec_count_ = target.exec_count();
        for (const auto& mapping : map->mappings())
            if (mapping.name == "[vdso]") vdso_ = mapping;
    }
    return vdso_ && vdso_->contains(pc);
}

// A sample may want what a fork has left out.
void Sampler::look_for_unforked(const SampleReport& report) {
    if (!report.missing || has_unforked_) return;
    const auto map = read_memory_map(target_pid_);
    has_unforked_ = map && map->find(*report.missing) != nullptr;
}

// False: it changes its mappings just now.
bool Sampler::read_unforked() {
    const auto maps = read_maps_text(target_pid_);
    if (maps && *maps == unforked_.maps_text) return true;
    auto memory = UnforkedMemory::read(target_pid_);
    if (!memory) return memory.error().code != ErrorCode::interrupted;
    unforked_ = std::move(*memory);
    return true;
}

// In a stop. One that is longer, for reading it again, is the last resort.
bool Sampler::check_unforked(const Target& target) {
    const auto maps = read_maps_text(target.live_thread_id());
    if (maps && *maps == unforked_.maps_text) {
        unforked_changes_ = 0;
        return true;
    }
    if (++unforked_changes_ < most_unforked_changes) return false;
    auto memory = UnforkedMemory::read(target.live_thread_id());
    if (!memory) return false;
    unforked_ = std::move(*memory);
    return true;
}

// A random one of the threads that execute instructions now.
std::optional<ThreadSnapshot> Sampler::choose_thread(ScopedStop& stop, pid_t leader) {
    auto& threads = stop.threads();
    std::vector<std::size_t> order(threads.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    for (auto i : order) {
        if (options_.threads == ThreadScope::main && threads[i].tid() != leader) continue;
        auto snapshot = threads[i].snapshot();
        if (snapshot && !snapshot->blocked_syscall) return std::move(*snapshot);
    }
    return std::nullopt;
}

void Sampler::note_refusal(const Error& error) {
    if (error.code != ErrorCode::gone) ++refusals_[error.message];
}

// What the last fork has cost the target by now.
void Sampler::count_faults() {
    const auto stat = read_proc_stat(target_pid_);
    if (!stat) return;
    if (faults_at_fork_ && stat->minor_faults >= *faults_at_fork_) {
        const auto faults = stat->minor_faults - *faults_at_fork_;
        const std::chrono::duration<double, std::nano> price(static_cast<double>(faults) *
                                                             costs_.fault_price_ns());
        costs_.add_faults(faults);
        schedule_.on_cost(last_pause_ + duration_cast<Clock::duration>(price));
    }
    faults_at_fork_ = stat->minor_faults;
}

void Sampler::finish() {
    const auto limit = Clock::now() + drain_limit;
    while (is_busy() && Clock::now() < limit) {
        pollfd waiting = {events_->fd(), POLLIN, 0};
        poll(&waiting, 1, 10);
        take_runner_events();
    }
    active_.clear();
}

void Sampler::fill(Profile& profile) const {
    const auto seconds = std::chrono::duration<double>(end_ - begin_).count();
    const auto counters = profile.sampling.counters;
    profile.sampling = stats_;
    profile.sampling.counters.insert(counters.begin(), counters.end());
    profile.syscalls = syscalls_;
    costs_.fill(profile.overhead, seconds);
    profile.run.seconds = seconds;
    if (stats_.samples != 0 && started_ == 0)
        profile.notes.push_back(
            "no samples could be taken: whenever one was due, the process did not run");
    for (const auto& [reason, times] : end_reasons_)
        profile.notes.push_back(fmt::format("{} samples ended by {}", times, reason));
    for (const auto& [reason, times] : refusals_)
        profile.notes.push_back(fmt::format("{} samples were not taken: {}", times, reason));
    if (damaged_) profile.notes.push_back(fmt::format("{} samples had a damaged trace", damaged_));
}

}  // namespace shadowprof
