#include "shadow/exact/exact_run.h"

#include <csignal>

#include "base/clock.h"
#include "base/files/fd.h"
#include "profile/merge/join.h"
#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

constexpr std::chrono::milliseconds observation_period{50};
constexpr std::size_t noted_divergences = 3;

bool lives(pid_t pid) {
    const auto state = read_thread_state(pid, pid);
    return state && *state != 'Z' && *state != 'X';
}

}  // namespace

// Passes the trace to a collector. Each contiguous part of it is a sample.
class ExactRun::Collecting final : public TraceUser {
  public:
    // If there are no `bursts`, everything counts.
    Collecting(SampleCollector& collector, ModuleTable& modules,
               const std::optional<BurstOptions>& bursts, std::uint64_t seed)
        : collector_(collector),
          resolver_(map_, modules),
          bursts_(bursts ? std::optional(bursts->plan) : std::nullopt),
          seed_(seed) {}

    void restart(pid_t id, std::vector<GuestAddress> stack) override {
        end();
        ids_ = {id};
        collector_.begin({.resolver = resolver_,
                          .stack = stack,
                          .bursts = bursts_ ? &*bursts_ : nullptr,
                          .seed = mix64(seed_ + parts_)});
        ++parts_;
        open_ = true;
    }
    void begin_thread(GuestThreads::Index index, pid_t id,
                      std::vector<GuestAddress> stack) override {
        if (index >= ids_.size()) ids_.resize(index + 1);
        ids_[index] = id;
        if (open_) collector_.begin_thread(index, stack);
    }
    void set_layout(MemoryMap map) override { map_ = std::move(map); }
    void use(GuestThreads::Index thread, std::span<const std::uint64_t> words,
             const BlockTable& table) override {
        if (!open_) return;
        const auto start = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        const auto batch = collector_.add(thread, words, table);
        instructions_ += batch.instructions;
        if (thread < ids_.size()) by_thread_[ids_[thread]] += batch.instructions;
        damaged_ |= batch.damaged;
        cpu_ns_ += static_cast<std::uint64_t>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
    }
    void use(const ProbeRecord& record) override {
        if (open_) collector_.add_probed(record);
    }
    void new_emulator() override {
        end();
        collector_.new_emulator();
    }
    void end() {
        if (open_) collector_.end();
        open_ = false;
    }

    std::uint64_t instructions() const { return instructions_; }
    std::uint64_t parts() const { return parts_; }
    bool damaged() const { return damaged_; }
    std::uint64_t cpu_ns() const { return cpu_ns_; }
    // Instructions by the id of the thread.
    const std::map<pid_t, std::uint64_t>& by_thread() const { return by_thread_; }

  private:
    SampleCollector& collector_;
    MemoryMap map_;
    MapResolver resolver_;
    const std::optional<BurstPlan> bursts_;
    const std::uint64_t seed_;
    std::atomic<std::uint64_t> instructions_ = 0;
    std::uint64_t parts_ = 0;
    std::uint64_t cpu_ns_ = 0;
    std::vector<pid_t> ids_;  // of the threads at present
    std::map<pid_t, std::uint64_t> by_thread_;
    bool damaged_ = false;
    bool open_ = false;
};

ExactRun::ExactRun(const RunOptions& options, std::uint64_t seed, WaitHub& hub, OwnedWorker worker)
    : options_(options), seed_(seed), hub_(hub), worker_(std::move(worker)) {}

ExactRun::~ExactRun() = default;

Result<std::unique_ptr<ExactRun>> ExactRun::create(const RunOptions& options, std::uint64_t seed,
                                                   WaitHub& hub, ModuleTable& modules,
                                                   ProcessProfile& profile,
                                                   const ProbeRequest* probes) {
    TRY_ASSIGN(auto worker, OwnedWorker::start(hub));
    std::unique_ptr<ExactRun> run(new ExactRun(options, seed, hub, std::move(worker)));
    run->collecting_ =
        std::make_unique<Collecting>(profile.add_collector(), modules, options.bursts, seed);
    run->probes_.emplace(probes, modules);
    return run;
}

double ExactRun::seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void ExactRun::run(Target& target, const ProgressListener& on_progress, int end_request) {
    begin_ = Clock::now();
    pid_ = target.pid();
    const auto followed = follow(target, on_progress, end_request);
    // A program that has ended was followed to its end.
    if (!followed && (followed.error().code != ErrorCode::gone || lives(target.pid())))
        stats_.stopped_early = followed.error().message;
    // A target that cannot be detached goes on when shadowprof ends.
    is_readable(end_request) ? (void)target.detach() : run_to_end(hub_, target);
    seconds_ = seconds();
}

Result<void> ExactRun::follow(Target& target, const ProgressListener& on_progress,
                              int end_request) {
    TraceConsumer consumer(*collecting_);
    auto next_progress = begin_ + progress_period;
    ForwardedOptions options{
        .profiles = options_.profiles,
        .bursts = options_.bursts,
        .seed = seed_,
        // The same order in each run, unless another is asked for.
        .turns_seed = options_.seed.value_or(0),
        .probes = &*probes_,
        .checked_share = options_.check_percent.value_or(default_check_percent) / 100};
    options.is_given_up = [&] { return is_readable(end_request); };
    options.on_tick = [&] {
        const auto now = Clock::now();
        if (!on_progress || now < next_progress) return;
        next_progress = now + progress_period;
        on_progress({seconds(), stats_.intervals, collecting_->instructions(), "intervals"});
    };
    auto stop = target.stop();
    if (!stop) return std::move(stop).error();
    if (stop->threads().empty())
        return Error{ErrorCode::gone, ESRCH, "no thread of the program stood still at its begin"};
    ForwardedRun run(*stop, worker_, consumer, options, stats_, divergences_);
    auto result = run.run();
    consumer.drain();
    collecting_->end();
    counters_ = run.counters();
    thread_names_ = run.thread_names();
    if (!run.is_current() && !result && result.error().code != ErrorCode::gone) {
        kill(target.pid(), SIGKILL);
        return std::move(result).error().with_context(
            "the program was killed, as its state was lost");
    }
    if (result || result.error().code != ErrorCode::gone) std::move(*stop).detach();
    return result;
}

void ExactRun::fill(Profile& profile) const {
    auto& sampling = profile.sampling;
    sampling.mode = "exact";
    sampling.samples = collecting_->parts();
    sampling.instructions = collecting_->instructions();
    for (const auto& [name, counter] : worker_counters)
        sampling.counters[std::string(name)] = counters_.*counter;
    sampling.counters["collector_cpu_ns"] = collecting_->cpu_ns();
    sampling.emulation_seconds =
        static_cast<double>(counters_.cpu_ns + collecting_->cpu_ns()) / 1e9;
    sampling.ended[stats_.stopped_early.empty() ? "exit" : "stopped"] = 1;
    if (sampling.samples > 1) sampling.ended["interrupted"] = sampling.samples - 1;
    sampling.single_stepped = stats_.native_instructions;
    sampling.exact = stats_;
    if (stats_.stopped_early.empty()) sampling.target_instructions = sampling.instructions;
    fill_threads(profile);
    profile.run.seconds = seconds_;
    profile.overhead.stops = stats_.intervals;
    auto& notes = profile.notes;
    if (!stats_.stopped_early.empty())
        notes.push_back(
            fmt::format("the rest of the run is not covered: {}", stats_.stopped_early));
    if (stats_.diverged)
        notes.push_back(
            fmt::format("{} of {} compared intervals diverged: what is counted is not certain",
                        stats_.diverged, stats_.compared));
    for (std::size_t i = 0; i < std::min(noted_divergences, divergences_.size()); ++i)
        notes.push_back(fmt::format("interval {} diverged: {}", divergences_[i].interval,
                                    fmt::join(divergences_[i].differences, "; ")));
    for (const auto& [reason, times] : stats_.excluded)
        notes.push_back(fmt::format("{} intervals are not covered: {}", times, reason));
    if (collecting_->damaged()) notes.emplace_back("the trace was damaged");
}

// A thread alone is the run itself.
void ExactRun::fill_threads(Profile& profile) const {
    const auto& by_thread = collecting_->by_thread();
    if (by_thread.size() < 2) return;
    for (const auto& [tid, instructions] : by_thread) {
        const auto name = thread_names_.find(tid);
        profile.threads.push_back(
            {.pid = pid_,
             .tid = tid,
             .name = name == thread_names_.end() ? std::string() : name->second,
             .samples = 1,
             .instructions = instructions});
    }
    join_and_sort(profile.threads);
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
