#include "shadow/results/profile_parts.h"

#include <fmt/format.h>

#include <utility>

#include "base/text/numbered.h"
#include "profile/merge/phase.h"

namespace shadowprof {
namespace {

// A profile names so many parts.
constexpr std::size_t max_noted_parts = 16;

std::string shown(const std::string& name) {
    return name.empty() ? "" : fmt::format(" '{}'", name);
}

}  // namespace

// Every instruction has the weight 1, so that the scale is known.
Profile ProfileParts::so_far() {
    SampledSoFar sampled{.profile = {}, .scale = CountScale{}};
    sampled.profile.sampling.mode = "exact";
    sampled.profile.sampling.instructions = instructions_;
    sampled.profile.sampling.exact.emplace();
    return profiling_.complete(std::move(sampled), DumpPart::phase, collected_);
}

void ProfileParts::end_part(const std::string& name) {
    const std::lock_guard lock(mutex_);
    ++ended_;
    if (!file_) return;
    auto now = so_far();
    auto part = phase_between(now, before_);
    before_ = std::move(now);
    part.run.part = RunPart{.number = ended_, .name = name};
    const auto instructions = part.sampling.instructions;
    const auto request = file_(static_cast<unsigned>(ended_));
    auto done = request.receiver->open();
    if (done) done = request.receiver->write(profiling_.outcome_so_far(std::move(part)));
    request.receiver->on_done(done);
    if (notes_.size() < max_noted_parts && !(done && rest_is_a_part_))
        notes_.push_back(done ? fmt::format("part {}{}: {}, in {}", ended_, shown(name),
                                            numbered(instructions, "instruction"), request.file)
                              : fmt::format("part {}{} was not written: {}", ended_, shown(name),
                                            done.error().message));
}

void ProfileParts::forget() {
    const std::lock_guard lock(mutex_);
    before_ = so_far();
    forgotten_ = before_;
}

void ProfileParts::subtract_from(Profile& profile, const Profile& earlier) {
    auto notes = std::move(profile.notes);
    profile = phase_between(std::move(profile), earlier);
    notes.insert(notes.end(), profile.notes.begin(), profile.notes.end());
    profile.notes = std::move(notes);
    profile.sampling.target_instructions.reset();
}

void ProfileParts::fill(Profile& profile) {
    const std::lock_guard lock(mutex_);
    if (rest_is_a_part_ && ended_ != 0)
        subtract_from(profile, before_);
    else if (forgotten_)
        subtract_from(profile, *forgotten_);
    if (forgotten_ && !rest_is_a_part_)
        profile.notes.emplace_back(
            "the program set the counts to zero during the run: only processes and threads are "
            "listed with all that they have counted");
    profile.notes.insert(profile.notes.end(), notes_.begin(), notes_.end());
    if (ended_ > notes_.size() && !rest_is_a_part_)
        profile.notes.push_back(
            file_ ? fmt::format("more parts that were written: {}", ended_ - notes_.size())
                  : fmt::format("{} {} not written, as the profile has no file beside which to put "
                                "them; name one with -o",
                                numbered(ended_, "part"), word_for(ended_, "was", "were")));
}

}  // namespace shadowprof
