// What commands have made of the options so far.
#pragma once

#include <optional>

#include "profile/profile.h"
#include "shadow/request/sampling_control.h"

namespace shadowprof {

class SamplingSettings {
  public:
    explicit SamplingSettings(const std::optional<WindowOptions>& windows,
                              const ProfileKinds& profiles = {})
        : windows_(windows), profiles_(profiles) {}

    // `seconds` after the run's begin, when `samples` had begun. False if all is as it was.
    bool apply(const SamplingCommand& command, double seconds, std::uint64_t samples);

    // Whether samples may begin now, or ever again.
    bool is_on() const { return on_ && !stopped_; }
    bool is_stopped() const { return stopped_; }
    // The windows of samples that begin now. Nothing if the run began without.
    std::optional<WindowOptions> windows() const;
    // For which samples count that begin now.
    const ProfileKinds& profiles() const { return profiles_; }

    // Adds what was changed.
    void fill(SamplingStats& stats) const;

  private:
    bool change(const SamplingCommand& command);

    std::optional<WindowOptions> windows_;
    ProfileKinds profiles_;
    std::optional<double> budget_percent_, load_;  // that commands have set
    bool on_ = true;
    bool stopped_ = false;
    std::vector<SamplingChange> changes_;
    std::uint64_t left_out_ = 0;
};

}  // namespace shadowprof
