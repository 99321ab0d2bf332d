#include "shadow/schedule/sampling_settings.h"

#include <utility>

namespace shadowprof {

std::optional<BurstOptions> SamplingSettings::bursts() const {
    return bursts_ ? std::optional(only(*bursts_, profiles_)) : std::nullopt;
}

bool SamplingSettings::apply(const SamplingCommand& command, double seconds,
                             std::uint64_t samples) {
    if (!change(command)) return false;
    if (changes_.size() < max_sampling_changes)
        changes_.push_back({seconds, samples, command.text});
    else
        ++left_out_;
    return true;
}

// Returns false if nothing has changed.
bool SamplingSettings::change(const SamplingCommand& command) {
    switch (command.kind) {
        case SamplingCommand::Kind::enable:
            return !std::exchange(on_, true);
        case SamplingCommand::Kind::disable:
            return std::exchange(on_, false);
        case SamplingCommand::Kind::toggle:
            on_ = !on_;
            return true;
        case SamplingCommand::Kind::pause:
            return !std::exchange(paused_, true);
        case SamplingCommand::Kind::resume:
            return std::exchange(paused_, false);
        case SamplingCommand::Kind::stop:
            return !std::exchange(stopped_, true);
        case SamplingCommand::Kind::bursts:
            if (!bursts_ || *bursts_ == command.bursts) return false;
            bursts_ = command.bursts;
            return true;
        case SamplingCommand::Kind::profiles:
            return std::exchange(profiles_, command.profiles) != command.profiles;
        case SamplingCommand::Kind::budget:
            return std::exchange(budget_percent_, command.number) != command.number;
        case SamplingCommand::Kind::load:
            return std::exchange(load_, command.number) != command.number;
        case SamplingCommand::Kind::dump:
            return false;
    }
    return false;
}

void SamplingSettings::fill(SamplingStats& stats) const {
    stats.changes = changes_;
    stats.changes_left_out = left_out_;
}

}  // namespace shadowprof
