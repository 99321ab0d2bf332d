// Which of the processes that a target starts are traced.
#pragma once

#include <cstdint>

namespace shadowprof {

// What happens to processes that a target's threads create.
enum class Forks : std::uint8_t {
    detach,  // they run on, untraced
    follow,  // each is traced from before its first instruction: see TargetFamily
};

// Returns the PTRACE_O_... flags of a target.
std::uint64_t target_ptrace_options(Forks forks);

}  // namespace shadowprof
