// What is traced of the processes that a target starts.
#pragma once

#include <cstdint>

namespace shadowprof {

// What becomes of the processes that are born of a target's threads.
enum class Forks : std::uint8_t {
    detach,  // they run on untraced
    follow,  // each is traced from before its first instruction on: see TargetFamily
};

// PTRACE_O_... of a target.
std::uint64_t target_ptrace_options(Forks forks);

}  // namespace shadowprof
