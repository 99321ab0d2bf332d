// The options as commands have changed them so far.
#pragma once

#include <optional>

#include "profile/profile.h"
#include "shadow/request/sampling_control.h"

namespace shadowprof {

class SamplingSettings {
  public:
    explicit SamplingSettings(const std::optional<BurstOptions>& bursts,
                              const ProfileKinds& profiles = {})
        : bursts_(bursts), profiles_(profiles) {}

    // Applies a command that came `seconds` after the start of the run, when `samples` samples had
    // begun. Returns false if nothing has changed.
    bool apply(const SamplingCommand& command, double seconds, std::uint64_t samples);

    // Whether samples may begin now, or ever again.
    bool is_on() const { return on_ && !paused_ && !stopped_; }
    bool is_paused() const { return paused_; }
    bool is_stopped() const { return stopped_; }
    // The bursts of samples that begin now; nothing if the run began without bursts.
    std::optional<BurstOptions> bursts() const;
    // The profiles that samples which begin now count for.
    const ProfileKinds& profiles() const { return profiles_; }

    // Sets the changes.
    void fill(SamplingStats& stats) const;

  private:
    bool change(const SamplingCommand& command);

    std::optional<BurstOptions> bursts_;
    ProfileKinds profiles_;
    std::optional<double> budget_percent_, load_;  // as set by commands
    bool on_ = true;
    bool paused_ = false;
    bool stopped_ = false;
    std::vector<SamplingChange> changes_;
    std::uint64_t left_out_ = 0;
};

}  // namespace shadowprof
