// Which kind of sample is taken next.
#pragma once

#include "shadow/request/run_options.h"
#include "shadow/sampler/sample_source.h"
#include "shadow/schedule/sampling_costs.h"

namespace shadowprof {

// Whether what the process reads is recorded for a shadow sample of it.
bool records_input(const RunOptions& options, const SamplingCosts& costs,
                   const SampledProcess& process);

// Shadow samples of the process are worth less than live ones, but for the windows that they have:
// how fast some of its code is, is not known.
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

    // Measurements that are made beside samples, for a share of the cost; or alone, where no
    // profile is made of samples.
    void set_beside(SampleSource* source) { beside_ = source; }

    // From now on these profiles are made, of those that the run began with.
    void collect(const ProfileKinds& profiles) {
        makes_samples_ = profiles.has_any_of_samples();
        measures_beside_ = profiles.has<LatencyList>();
    }

    // For the process.
    SampleSource& next(const SampledProcess& process);
    // What next() said was done, or at least tried; it has cost so much.
    void on_tried(const SampleSource& source, double cost_seconds);
    void on_done(const SampleSource& source);

    // The kind that is best for the process, but for what is beside it.
    SampleSource& sample_source(const SampledProcess& process) const;
    // What a sample of the process costs, and its part of what is beside it.
    double expected_cost_seconds(const SampledProcess& process) const;

  private:
    bool is_beside_due(const SampledProcess& process) const;

    const RunOptions& options_;
    const SamplingCosts& costs_;
    SampleSource& shadows_;
    SampleSource& live_;
    SampleSource* beside_ = nullptr;
    bool makes_samples_;
    bool measures_beside_ = true;   // where there is something
    double beside_seconds_ = 0;     // that it has cost
    bool beside_had_turn_ = false;  // the next one is that of samples
};

}  // namespace shadowprof
