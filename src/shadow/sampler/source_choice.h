// Chooses which kind of sample is taken next.
#pragma once

#include "shadow/request/run_options.h"
#include "shadow/sampler/sample_source.h"
#include "shadow/schedule/sampling_costs.h"

namespace shadowprof {

// Whether input of the process is recorded for its shadow samples.
bool records_input(const RunOptions& options, const SamplingCosts& costs,
                   const SampledProcess& process);

// Whether shadow samples of the process, though worth less than live ones, are wanted for their
// windows, since the speed of some of its code is not known.
bool seeks_speed(const RunOptions& options, const SamplingCosts& costs,
                 const SampledProcess& process);

class SourceChoice {
  public:
    // All must outlive it.
    SourceChoice(const RunOptions& options, const SamplingCosts& costs, SampleSource& shadows,
                 SampleSource& live)
        : options_(options),
          costs_(costs),
          shadows_(shadows),
          live_(live),
          makes_samples_(options.profiles.has_any_of_samples()) {}

    // Sets a source of measurements that are made beside samples, for a share of the cost. They are
    // made alone if no profile is made of samples.
    void set_beside(SampleSource* source) { beside_ = source; }

    // From now on these profiles are made; they must be among those that the run began with.
    void collect(const ProfileKinds& profiles) {
        makes_samples_ = profiles.has_any_of_samples();
        measures_beside_ = profiles.has<LatencyList>();
    }

    // The source of the next sample of the process.
    SampleSource& next(const SampledProcess& process);
    // What next() chose was tried, at this cost, or was done.
    void on_tried(const SampleSource& source, double cost_seconds);
    void on_done(const SampleSource& source);

    // The kind of sample that is best for the process, not counting `beside`.
    SampleSource& sample_source(const SampledProcess& process) const;
    // The cost of a sample of the process, with a share for what is measured beside samples.
    double expected_cost_seconds(const SampledProcess& process) const;

  private:
    bool is_beside_due(const SampledProcess& process) const;

    const RunOptions& options_;
    const SamplingCosts& costs_;
    SampleSource& shadows_;
    SampleSource& live_;
    SampleSource* beside_ = nullptr;
    bool makes_samples_;
    bool measures_beside_ = true;   // if there is a source
    double beside_seconds_ = 0;     // its cost so far
    bool beside_had_turn_ = false;  // the next turn is that of samples
};

}  // namespace shadowprof
