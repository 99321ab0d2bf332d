// The options as commands have changed them so far.
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

    // Applies a command that came `seconds` after the start of the run, when `samples` samples had
    // begun. Returns false if nothing has changed.
    bool apply(const SamplingCommand& command, double seconds, std::uint64_t samples);

    // Whether samples may begin now, or ever again.
    bool is_on() const { return on_ && !stopped_; }
    bool is_stopped() const { return stopped_; }
    // The windows of samples that begin now; nothing if the run began without windows.
    std::optional<WindowOptions> windows() const;
    // The profiles that samples which begin now count for.
    const ProfileKinds& profiles() const { return profiles_; }

    // Sets the changes.
    void fill(SamplingStats& stats) const;

  private:
    bool change(const SamplingCommand& command);

    std::optional<WindowOptions> windows_;
    ProfileKinds profiles_;
    std::optional<double> budget_percent_, load_;  // as set by commands
    bool on_ = true;
    bool stopped_ = false;
    std::vector<SamplingChange> changes_;
    std::uint64_t left_out_ = 0;
};

}  // namespace shadowprof
