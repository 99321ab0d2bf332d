// Decides whether the next sample is a shadow sample, of a forked replica, or a live one, in which
// the target itself stands still. Where forks are refused or might harm the target, only live
// samples are left.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "profile/profile.h"
#include "ptrace/process/target.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

// How forks of a process went.
struct ForkHistory {
    std::uint64_t exec_count = 0;
    std::optional<std::string> never;  // why this program is never forked
    std::string last_reason;
    unsigned live_left = 0;
};

class ShadowPolicy {
  public:
    explicit ShadowPolicy(SamplingMode mode) : mode_(mode) {}

    // To be called before a stop, for a sample that starts while `replicas` replicas live. Returns
    // false if a live sample is to be taken. Error `unsupported`: take no sample, as a fork might
    // harm the target and the mode excludes live samples.
    Result<bool> wants_shadow(const Target& target, ForkHistory& history, std::size_t replicas);
    // To be called when a fork was refused. Returns whether to take a live sample instead.
    bool may_be_live_instead(const Error& refusal, ForkHistory& history);
    void count_shadow() { ++shadows_; }
    void count_live_sample() { ++live_; }
    bool has_live_samples() const { return live_ != 0 || mode_ == SamplingMode::live; }

    // Sets the sampling mode of `profile` and notes why there were live samples.
    void fill(Profile& profile) const;

  private:
    // Number of live samples after a fork was refused for a reason that may pass.
    static constexpr unsigned patience = 16;

    const SamplingMode mode_;
    std::uint64_t shadows_ = 0;
    std::uint64_t live_ = 0;
    std::map<std::string, std::uint64_t> reasons_;
};

}  // namespace shadowprof
