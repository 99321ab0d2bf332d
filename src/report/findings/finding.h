// Opportunities to make a program faster, found in its profile.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace shadowprof {

enum class FindingKind : std::uint8_t {
    argument,      // a function's argument that is nearly always one value
    global,        // a global that is loaded often and always the same
    load,          // a load that is nearly always the same
    call_target,   // an indirect call's target that is nearly always one
    taken_branch,  // hot code jumps over other code
    strided_miss,  // loads at constant distances that miss
    chased_miss,   // loads that miss and depend on each other
    other_miss,    // loads at irregular addresses that miss
    hazard,        // accesses that wait for others
    mispredicted,  // branches that the modelled predictor is often wrong about
};

struct FindingKindRow {
    FindingKind kind;
    std::string_view name, advice;
};
inline constexpr std::array<FindingKindRow, 10> finding_kinds{{
    {FindingKind::argument, "argument", "specialise the function for this value"},
    {FindingKind::global, "global", "keep it in a local, or make it a constant"},
    {FindingKind::load, "load", "test for this value first, or compute it once"},
    {FindingKind::call_target, "call target", "test for this target and call it directly"},
    {FindingKind::taken_branch, "taken branch",
     "lay the code out by this profile, or mark it likely"},
    {FindingKind::strided_miss, "strided misses", "prefetch, or work on blocks that fit a cache"},
    {FindingKind::chased_miss, "chased misses", "lay out what is linked together"},
    {FindingKind::other_miss, "irregular misses", "make the table smaller, or prefetch"},
    {FindingKind::hazard, "hazard", "use accesses of one size, or other distances"},
    {FindingKind::mispredicted, "mispredicted branch",
     "select without a branch, or sort what it decides on"},
}};

// The quantity of which at_stake is a share.
enum class Stake : std::uint8_t { instructions, lost_cycles };

struct Finding {
    FindingKind kind = FindingKind::argument;
    CodeLocation at;
    std::string what;                   // "eax = 7 in deflate"; printable
    std::vector<std::string> evidence;  // printable
    double share = 0;     // lower 95% bound of the share of executions that it holds for
    double at_stake = 0;  // the most that can be gained, in [0, 1]
    Stake stake = Stake::instructions;
};

}  // namespace shadowprof
