#include "shadow/results/separate_profiles.h"

#include <utility>

namespace shadowprof {

ProcessProfiles::OfProcess SeparateProfiles::begin(std::uint64_t number, pid_t pid) {
    auto& separate = separate_[number];
    separate.collected = profiling_.make_collected();
    separate.parts = std::make_unique<ProfileParts>(profiling_, *separate.collected,
                                                    hooks_.parts_of(pid), hooks_.rest_is_a_part);
    return {*separate.collected, *separate.parts};
}

void SeparateProfiles::end(std::uint64_t number, Profile profile) {
    const auto node = separate_.extract(number);
    if (node.empty()) return;
    const auto& [collected, parts] = node.mapped();
    auto run = profile.run;
    profile = profiling_.complete({.profile = std::move(profile), .scale = {}}, DumpPart::whole,
                                  *collected);
    profile.run.command = std::move(run.command);
    profile.run.pid = run.pid;
    profile.run.exit_status = run.exit_status;
    profile.run.exit_signal = run.exit_signal;
    parts->fill(profile);
    hooks_.on_process_end(profiling_.outcome_so_far(std::move(profile)));
}

}  // namespace shadowprof
