// What a user asks of `shadowprof run` and `attach`, as plain values: no parsing, no defaults from
// outside.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shadowprof {

// How samples are taken.
enum class SamplingMode : std::uint8_t {
    automatic,  // shadowprof chooses; in this version that is always `shadow`
    shadow,     // fork a replica, emulate it while the target goes on
    exact,      // emulate every instruction, and compare with the target
};

// Whose instructions are sampled.
enum class ThreadScope : std::uint8_t {
    all,   // each sample follows one of the target's threads
    main,  // only the thread whose id is the process id
};

// Which profiles are collected. At least one is.
struct ProfileKinds {
    bool edges = true;
    bool paths = true;
    bool values = true;
    bool calls = true;

    constexpr bool any() const { return edges || paths || values || calls; }
    friend bool operator==(const ProfileKinds&, const ProfileKinds&) = default;
};

struct RunOptions {
    // The program to run, searched for along PATH if it has no slash, and its arguments; or else
    // the process to attach to.
    std::vector<std::string> command;
    std::optional<pid_t> attach_to;

    SamplingMode mode = SamplingMode::automatic;
    ProfileKinds profiles;
    ThreadScope threads = ThreadScope::all;
    std::uint64_t sample_size = 1'000'000;  // instructions per sample, at least 1000
    double load = 0.25;                     // average number of active shadows
    // `load` alone says how often. Else samples also keep so far apart that what they are measured
    // to cost the target stays at about 1%, once it has had its first few.
    bool load_is_asked_for = false;
    std::chrono::nanoseconds delay{0};                 // from the start to the first sample
    std::optional<std::chrono::nanoseconds> duration;  // of sampling, after `delay`
    std::optional<std::uint64_t> max_samples;
    std::optional<std::uint64_t> seed;  // of every random choice; else from the clock
    bool verbose = false;               // also keep TNV tables of values, to compare with

    friend bool operator==(const RunOptions&, const RunOptions&) = default;
};

}  // namespace shadowprof
