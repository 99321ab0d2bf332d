#include "shadow/verify/verify_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "ptrace/process/launch.h"
#include "shadow/exact/exact_run.h"

namespace shadowprof {
namespace {

// Counts instructions, tells how many there are, and makes no profile.
class CountingUser final : public TraceUser {
  public:
    explicit CountingUser(const ProgressListener& on_progress) : on_progress_(on_progress) {}

    void restart(pid_t, std::vector<GuestAddress>) override {}
    void set_layout(MemoryMap) override {}
    void use(GuestThreads::Index, std::span<const std::uint64_t> words,
             const BlockTable& table) override {
        std::uint64_t sum = 0;
        for (const auto id : words) sum += id < sizes_.size() ? sizes_[id] : size_of(id, table);
        instructions_ += sum;
        if (on_progress_) tell_progress();
    }
    void new_emulator() override { sizes_.clear(); }

    void begin_interval() { intervals_ = begun_++; }
    std::uint64_t instructions() const { return instructions_; }

  private:
    using Clock = std::chrono::steady_clock;

    void tell_progress() {
        const auto now = Clock::now();
        if (now < next_) return;
        next_ = now + progress_period;
        on_progress_({.seconds = std::chrono::duration<double>(now - begin_).count(),
                      .samples = intervals_,
                      .instructions = instructions_,
                      .unit = "interval"});
    }

    std::uint64_t size_of(std::uint64_t id, const BlockTable& table) {
        const auto* block = table.find(id);
        if (!block) return 0;
        // Lower ids were given before, so their blocks are known by now.
        for (auto known = sizes_.size(); known <= id; ++known)
            sizes_.push_back(table.find(known)->instructions);
        return block->instructions;
    }

    std::vector<std::uint32_t> sizes_;  // by id; close together, for the cache
    std::atomic<std::uint64_t> instructions_ = 0, intervals_ = 0;  // intervals that are over
    std::uint64_t begun_ = 0;
    const ProgressListener& on_progress_;
    const Clock::time_point begin_ = Clock::now();
    Clock::time_point next_ = begin_ + progress_period;
};

Result<void> verify(Target& target, OwnedWorker& worker, const VerifyOptions& options,
                    VerifyOutcome& outcome) {
    CountingUser counting(options.on_progress);

    TraceConsumer consumer(counting);
    IntervalOptions interval_options{.flipped = options.flipped,
                                     .narrow = options.narrow,
                                     .instructions_left = {},
                                     .on_interval = [&] { counting.begin_interval(); }};
    const auto instructions_left = [&] {
        const auto done = std::min(counting.instructions(), options.max_instructions);
        outcome.limit_reached = done == options.max_instructions;
        return options.max_instructions - done;
    };
    if (options.max_instructions) interval_options.instructions_left = instructions_left;
    auto stop = target.stop();
    if (!stop) return std::move(stop).error();
    if (stop->threads().empty()) return {};
    IntervalRun intervals(*stop, worker, consumer, interval_options, outcome.stats,
                          outcome.divergences);
    auto result = intervals.run();
    consumer.drain();
    outcome.instructions = counting.instructions();
    if (!result && result.error().code == ErrorCode::gone) return {};
    std::move(*stop).detach();
    return result;
}

}  // namespace

Result<VerifyOutcome> verify_target(const VerifyOptions& options) {
    const auto signals = InheritedSignals::capture();
    TRY_ASSIGN(const auto limits, InheritedLimits::raise());
    prepare_sigchld();
    WaitHub hub;
    TRY_ASSIGN(auto worker, OwnedWorker::start(hub));
    VerifyOutcome outcome;
    TRY_ASSIGN(auto target, launch(hub, {.command = options.command,
                                         .signals = signals,
                                         .limits = limits,
                                         .fixed_addresses = true}));
    const auto verified = verify(*target, worker, options, outcome);
    if (options.on_verified) options.on_verified();
    run_to_end(hub, *target);
    if (!verified) return verified.error();
    return outcome;
}

}  // namespace shadowprof
