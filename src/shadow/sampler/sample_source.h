// A kind of sample, as the sampler sees it: it knows no other difference between the kinds.
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

// What the sampler gives for one sample.
struct SampleOrder {
    SampleRunner::Lease runner;
    SampleShare share;
};

// What became of it.
struct SampleTaken {
    enum class Kind : std::uint8_t {
        begun,  // its report will come
        over,   // nothing more comes of it
        idle,   // no thread executes instructions
        later,  // try again soon, but not before `not_before`
    };
    Kind kind = Kind::begun;
    bool counts = true;  // as one of RunOptions::max_samples, where it is begun or over
    std::chrono::steady_clock::time_point not_before = {};
};

// One that was planned while its process ran. What it holds is given back if it is not taken.
class PlannedSample {
  public:
    PlannedSample() = default;
    virtual ~PlannedSample() = default;
    PlannedSample(const PlannedSample&) = delete;
    PlannedSample& operator=(const PlannedSample&) = delete;
    // Stops the process for it, and maybe for a moment behind it. Needs: the process of the plan,
    // which has executed no other program since. Once. An error says why that cannot be done.
    virtual Result<SampleTaken> take(SampledProcess& process) = 0;
};

class SampleSource {
  public:
    SampleSource() = default;
    virtual ~SampleSource() = default;
    SampleSource(const SampleSource&) = delete;
    SampleSource& operator=(const SampleSource&) = delete;

    // What one of the process is expected to cost it.
    virtual double expected_cost_seconds(const SampledProcess& process) const = 0;
    // False where the process's program lets none be taken.
    virtual bool may_sample(const SampledProcess&) const { return true; }
    // A load of RunOptions keeps such samples apart: they live on beside the target.
    virtual bool follows_load() const { return false; }
    // While the process runs: all of a sample that can be known before its moment, or what became
    // of it already. An error says why none can be taken.
    using Plan = std::variant<std::unique_ptr<PlannedSample>, SampleTaken>;
    virtual Result<Plan> plan(SampledProcess& process, SampleOrder order) = 0;

    // When the process of the last sample is to be looked at again, to know what the sample stands
    // for; nothing: never. No other sample is taken before.
    using Clock = std::chrono::steady_clock;
    using FindProcess = std::function<SampledProcess*(std::uint64_t number)>;
    virtual std::optional<Clock::time_point> next_look() const { return std::nullopt; }
    // Does so. It may stop the process once.
    virtual void look(Clock::time_point, const FindProcess&) {}
    // It will not be looked at any more.
    virtual void stop_looking() {}

    // Events of a runner that has a sample of this source.
    virtual void on_emulated(SampleRunner&, const FindProcess&) {}
    virtual void on_step(SampleRunner& runner) = 0;
    // `process` is null if it has ended. The answer: for how long the runner is to translate ahead.
    virtual std::chrono::nanoseconds on_finished(SampleRunner& runner, const SampleReport& report,
                                                 SampledProcess* process) = 0;

    // Gives up what lives on of samples of these processes, by SampledProcess::number.
    virtual void drop_if(const std::function<bool(std::uint64_t process)>&) {}
    // No sample will be taken any more: gives up what it keeps for them.
    virtual void end() {}
    // Adds what was measured.
    virtual void fill(Profile& profile) const = 0;
    // The same while a run is under way: what takes long is left out.
    virtual void fill_so_far(Profile& profile) const { fill(profile); }
};

// The order of events of every sample. Each step needs what the one before has returned.
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
    // While the process runs: what can be known without a stop, or why there is to be none.
    virtual Result<Planned> plan_steps(SampledProcess& process, SampleOrder order) = 0;
    // The stop, from its first moment to its last.
    virtual Shot take(SampledProcess& process, Steps plan) = 0;
    // While the process runs again: notes what the stop has cost, and lets the rest go its way.
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
