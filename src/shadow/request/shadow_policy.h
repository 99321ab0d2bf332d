// Whether the next sample is a shadow sample, of a forked replica, or a live one, in which the
// target itself stands still: where forks are refused, or might harm it, only live samples are
// left.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "profile/profile.h"
#include "ptrace/target/target.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

// What forks of a process came to.
struct ForkHistory {
    std::uint64_t exec_count = 0;
    std::optional<std::string> never;  // why not, as long as it executes this program
    std::string last_reason;
    unsigned live_left = 0;
};

class ShadowPolicy {
  public:
    explicit ShadowPolicy(SamplingMode mode) : mode_(mode) {}

    // Before a stop, for a sample beside which `replicas` more live. False: take a live one. Error
    // `unsupported`: take none, as live samples are not wanted and a fork might harm the target.
    Result<bool> wants_shadow(const Target& target, ForkHistory& history, std::size_t replicas);
    // A fork was refused. False: that is the sample's end; else take a live sample in its place.
    bool may_be_live_instead(const Error& refusal, ForkHistory& history);
    void count_shadow() { ++shadows_; }
    void count_live_sample() { ++live_; }
    bool has_live_samples() const { return live_ != 0 || mode_ == SamplingMode::live; }

    // Sets the mode and says why there were live samples.
    void fill(Profile& profile) const;

  private:
    // So many live samples are taken after a fork was refused for a reason that may pass.
    static constexpr unsigned patience = 16;

    const SamplingMode mode_;
    std::uint64_t shadows_ = 0;
    std::uint64_t live_ = 0;
    std::map<std::string, std::uint64_t> reasons_;
};

}  // namespace shadowprof
