// A source of samples for tests, which takes none and reports a given cost.
#pragma once

#include "shadow/sampler/sample_source.h"

namespace shadowprof {

class FakeSource final : public SampleSource {
  public:
    explicit FakeSource(double cost_seconds = 0) : cost_seconds_(cost_seconds) {}
    double expected_cost_seconds(const SampledProcess&) const override { return cost_seconds_; }
    bool may_sample(const SampledProcess&) const override { return allowed; }
    Result<Plan> plan(SampledProcess&, SampleOrder) override { return Plan(SampleTaken{}); }
    void on_step(SampleRunner&) override {}
    std::chrono::nanoseconds on_finished(SampleRunner&, const SampleReport&,
                                         SampledProcess*) override {
        return {};
    }
    void fill(Profile&) const override {}

    bool allowed = true;

  private:
    double cost_seconds_;
};

}  // namespace shadowprof
