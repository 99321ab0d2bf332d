// A kind of sample, as the sampler sees it. The sampler knows no other difference between kinds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "base/result.h"
#include "profile/profile.h"
#include "shadow/emulation/sample_runner.h"
#include "shadow/program/process_tree.h"

namespace shadowprof {

// What the sampler provides for one sample.
struct SampleOrder {
    SampleRunner::Lease runner;
    SampleShare share;
};

// What became of a sample.
struct SampleTaken {
    enum class Kind : std::uint8_t {
        begun,  // its report will come
        over,   // it has ended already
        idle,   // no thread executes instructions
        later,  // try again soon, but not before `not_before`
    };
    Kind kind = Kind::begun;
    bool counts = true;  // toward RunOptions::max_samples, if begun or over
    std::chrono::steady_clock::time_point not_before = {};
    // Try again later, but a report of what was begun will come: it is void.
    bool is_discarded = false;
};

// A sample that was planned while its process ran. If it is not taken, it returns its runner.
class PlannedSample {
  public:
    PlannedSample() = default;
    virtual ~PlannedSample() = default;
    PlannedSample(const PlannedSample&) = delete;
    PlannedSample& operator=(const PlannedSample&) = delete;
    // Stops the process for the sample, and maybe again for a moment afterwards. `process` must be
    // that of the plan, and have executed no other program since. To be called once. An error says
    // why the sample could not be taken.
    virtual Result<SampleTaken> take(SampledProcess& process) = 0;
};

class SampleSource {
  public:
    SampleSource() = default;
    virtual ~SampleSource() = default;
    SampleSource(const SampleSource&) = delete;
    SampleSource& operator=(const SampleSource&) = delete;

    // What a sample of the process is expected to cost it.
    virtual double expected_cost_seconds(const SampledProcess& process) const = 0;
    // False if no sample can be taken of the process's program.
    virtual bool may_sample(const SampledProcess&) const { return true; }
    // Whether such samples live on beside the target, so that RunOptions::load keeps them apart.
    virtual bool follows_load() const { return false; }
    // To be called while the process runs. Returns a plan with all that can be known before the
    // sample's moment, or what became of the sample already. An error says why none can be taken.
    using Plan = std::variant<std::unique_ptr<PlannedSample>, SampleTaken>;
    virtual Result<Plan> plan(SampledProcess& process, SampleOrder order) = 0;

    // When observe() is due at the process of the last sample, to know what the sample stands for;
    // nothing: never. No other sample is taken before.
    using Clock = std::chrono::steady_clock;
    using FindProcess = std::function<SampledProcess*(std::uint64_t number)>;
    virtual std::optional<Clock::time_point> next_observation() const { return std::nullopt; }
    // Looks at that process. May stop it once.
    virtual void observe(Clock::time_point, const FindProcess&) {}
    // To be called when no observation follows.
    virtual void stop_observing() {}

    // Events of a runner that has a sample of this source.
    virtual void on_emulated(SampleRunner&, const FindProcess&) {}
    virtual void on_step(SampleRunner& runner) = 0;
    // `process` is null if it has ended. Returns how long the runner should translate ahead.
    virtual std::chrono::nanoseconds on_finished(SampleRunner& runner, const SampleReport& report,
                                                 SampledProcess* process) = 0;

    // Drops what lives on of samples of these processes, given by SampledProcess::number.
    virtual void drop_if(const std::function<bool(std::uint64_t process)>&) {}
    // To be called when no sample will be taken any more. Releases what is kept for samples.
    virtual void end() {}
    // Adds what was measured.
    virtual void fill(Profile& profile) const = 0;
    // Like fill(), while a run goes on; leaves out what takes long.
    virtual void fill_so_far(Profile& profile) const { fill(profile); }
};

// The steps of every sample, in order. Each step gets what the one before has returned.
template <typename Steps, typename Shot>
class SampleInSteps : public SampleSource {
  public:
    Result<Plan> plan(SampledProcess& process, SampleOrder order) override {
        TRY_ASSIGN(Planned planned, plan_steps(process, std::move(order)));
        if (const auto* missed = std::get_if<SampleTaken>(&planned)) return Plan(*missed);
        return Plan(std::make_unique<Sample>(*this, std::move(std::get<Steps>(planned))));
    }

  protected:
    using Planned = std::variant<Steps, SampleTaken>;
    // While the process runs: what can be known without a stop, or why there will be none.
    virtual Result<Planned> plan_steps(SampledProcess& process, SampleOrder order) = 0;
    // The stop, from its first moment to its last.
    virtual Shot take(SampledProcess& process, Steps plan) = 0;
    // While the process runs again: records what the stop has cost, and starts what follows it.
    virtual Result<SampleTaken> settle(SampledProcess& process, Shot shot) = 0;

  private:
    class Sample final : public PlannedSample {
      public:
        Sample(SampleInSteps& source, Steps plan) : source_(source), plan_(std::move(plan)) {}
        Result<SampleTaken> take(SampledProcess& process) override {
            return source_.settle(process, source_.take(process, std::move(plan_)));
        }

      private:
        SampleInSteps& source_;
        Steps plan_;
    };
};

}  // namespace shadowprof
