#include "shadow/request/shadow_policy.h"

#include "base/text/numbered.h"
#include "ptrace/proc/fork_room.h"

namespace shadowprof {

Result<bool> ShadowPolicy::wants_shadow(const Target& target, ForkHistory& history,
                                        std::size_t replicas) {
    if (mode_ == SamplingMode::live) return false;
    if (history.exec_count != target.exec_count()) {
        history.exec_count = target.exec_count();
        history.never.reset();
        history.live_left = 0;
    }
    std::optional<std::string> reason = history.never;
    if (!reason && history.live_left != 0) {
        --history.live_left;
        reason = history.last_reason;
    }
    if (!reason) reason = find_shortage(target.pid(), replicas + 1);
    if (!reason) return true;
    if (mode_ == SamplingMode::shadow) return Error{ErrorCode::unsupported, 0, *reason};
    ++reasons_[*reason];
    return false;
}

bool ShadowPolicy::may_be_live_instead(const Error& refusal, ForkHistory& history) {
    if (refusal.code == ErrorCode::gone) return false;
    if (refusal.code == ErrorCode::permission) history.never = refusal.message;
    if (mode_ == SamplingMode::shadow) return false;
    if (refusal.code == ErrorCode::system) {
        history.last_reason = refusal.message;
        history.live_left = patience;
    }
    ++reasons_[refusal.message];
    return true;
}

void ShadowPolicy::fill(Profile& profile) const {
    auto& sampling = profile.sampling;
    sampling.mode = live_ == 0 && mode_ != SamplingMode::live ? "shadow"
                    : shadows_ == 0                           ? "live"
                                                              : "shadow and live";
    sampling.counters["live_samples"] = live_;
    for (const auto& [reason, times] : reasons_)
        profile.notes.push_back(
            fmt::format("{} {} taken live, with the process stopped, because it could not be "
                        "forked: {}",
                        numbered(times, "sample"), word_for(times, "was", "were"), reason));
}

}  // namespace shadowprof
