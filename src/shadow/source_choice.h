// Which kind of sample is taken next.
#pragma once

#include "shadow/run_options.h"
#include "shadow/sample_source.h"
#include "shadow/sampling_costs.h"

namespace shadowprof {

class SourceChoice {
  public:
    // All must outlive it.
    SourceChoice(const RunOptions& options, const SamplingCosts& costs, SampleSource& shadows,
                 SampleSource& live)
        : options_(options), costs_(costs), shadows_(shadows), live_(live) {}

    // Measurements that are made beside samples, for a share of the cost; or alone, where no
    // profile is made of samples.
    void set_beside(SampleSource* source) { beside_ = source; }

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
    double beside_seconds_ = 0;     // that it has cost
    bool beside_had_turn_ = false;  // the next one is that of samples
};

}  // namespace shadowprof
