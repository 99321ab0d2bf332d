#include "shadow/program/code_speeds.h"

#include <algorithm>
#include <cmath>

namespace shadowprof {
namespace {

// About what processors do; used while nothing is known.
constexpr double unknown_speed = 3e9;
// A window is worth its price only for code that has a good part of the samples.
constexpr std::uint64_t fewest_samples = 2;
constexpr double min_share = 0.05;
constexpr std::uint64_t max_trials = 3;
// The most that processors may do: eight instructions in each cycle of 6 GHz.
constexpr double highest_speed = 48e9;
// Code may be faster than the fastest so far, which may have been slow. A limit that is too low
// would leave out the fastest code. A Xeon with AMX runs loops of Lua at 25e9.
constexpr double speed_margin = 2;
constexpr double min_limit = 30e9;
// A shorter window says little: a page fault or an interrupt may distort its time.
constexpr std::uint64_t fewest_timed = 100'000;
// This many misses may come from a limit that was too low: each doubles it, up to the highest.
constexpr unsigned first_misses = 3;
constexpr unsigned max_doublings = 6;

}  // namespace

void CodeSpeeds::note_start(GuestAddress pc) {
    ++samples_;
    const auto region = pc.value / region_bytes[0];
    if (starts_.size() < max_regions || starts_.contains(region)) ++starts_[region].samples;
}

void CodeSpeeds::note_trial(GuestAddress pc) {
    const auto known = starts_.find(pc.value / region_bytes[0]);
    if (known != starts_.end()) ++known->second.trials;
}

void CodeSpeeds::note_rough_trial(GuestAddress pc) {
    const auto known = starts_.find(pc.value / region_bytes[0]);
    if (known != starts_.end()) ++known->second.rough_trials;
}

void CodeSpeeds::add(GuestAddress pc, std::uint64_t instructions, double seconds) {
    misses_ = 0;
    if (instructions >= fewest_timed)
        fastest_ = std::max(fastest_, static_cast<double>(instructions) / seconds);
    exact_.add(pc, instructions, seconds);
}

void CodeSpeeds::add_rough(GuestAddress pc, std::uint64_t instructions, double seconds) {
    rough_.add(pc, instructions, seconds);
}

void CodeSpeeds::Speeds::add(GuestAddress pc, std::uint64_t instructions, double seconds) {
    all.add(instructions, seconds);
    for (std::size_t i = 0; i < regions.size(); ++i) {
        const auto region = pc.value / region_bytes[i];
        if (regions[i].size() < max_regions || regions[i].contains(region))
            regions[i][region].add(instructions, seconds);
    }
}

const CodeSpeeds::Speed* CodeSpeeds::Speeds::near(GuestAddress pc) const {
    for (std::size_t i = 0; i < regions.size(); ++i) {
        const auto known = regions[i].find(pc.value / region_bytes[i]);
        if (known != regions[i].end()) return &known->second;
    }
    return nullptr;
}

double CodeSpeeds::instructions_per_second(GuestAddress pc) const {
    for (const Speeds* speeds : {&exact_, &rough_})
        if (const auto* known = speeds->near(pc)) return known->per_second();
    return instructions_per_second();
}

double CodeSpeeds::instructions_per_second() const {
    for (const Speeds* speeds : {&exact_, &rough_})
        if (speeds->all.seconds > 0) return speeds->all.per_second();
    return unknown_speed;
}

void CodeSpeeds::add_missed() {
    ++misses_;
    if (misses_ > first_misses)
        without_ = std::uint64_t{1} << std::min(misses_ - first_misses, max_doublings);
}

bool CodeSpeeds::misses_often() const {
    return misses_ >= first_misses;
}

double CodeSpeeds::max_instructions_per_second() const {
    const auto limit = std::max(speed_margin * fastest_, min_limit);
    return std::min(std::ldexp(limit, static_cast<int>(std::min(misses_, max_doublings))),
                    highest_speed);
}

bool CodeSpeeds::may_have_window() {
    if (without_ == 0) return true;
    --without_;
    return false;
}

bool CodeSpeeds::wants_guess(GuestAddress pc) const {
    const auto known = starts_.find(pc.value / region_bytes[0]);
    return known != starts_.end() && known->second.rough_trials < max_trials && !knows(pc) &&
           rough_.near(pc) == nullptr;
}

bool CodeSpeeds::wants_window(GuestAddress pc) const {
    const auto known = starts_.find(pc.value / region_bytes[0]);
    return known != starts_.end() && wants_window(known->first, known->second);
}

bool CodeSpeeds::wants_window() const {
    return std::ranges::any_of(
        starts_, [this](const auto& entry) { return wants_window(entry.first, entry.second); });
}

bool CodeSpeeds::wants_window(std::uint64_t region, const Starts& starts) const {
    return starts.samples >= fewest_samples && starts.trials < max_trials &&
           static_cast<double>(starts.samples) >= min_share * static_cast<double>(samples_) &&
           !exact_.regions[0].contains(region);
}

}  // namespace shadowprof
