// Exit statuses, and death by a signal.
#pragma once

namespace shadowprof {

inline constexpr int exit_own_failure = 125;     // shadowprof itself failed, or its options are bad
inline constexpr int exit_not_executable = 126;  // the program cannot be executed
inline constexpr int exit_not_found = 127;       // there is no such program

// Statuses of `diff`, for CI. The status is 0 if all limits are kept.
inline constexpr int exit_diff_failure = 1;   // a profile cannot be read, or a limit makes no sense
inline constexpr int exit_diff_usage = 2;     // bad options or arguments
inline constexpr int exit_diff_exceeded = 3;  // a limit is exceeded

// Ends this process by `signal` without a core dump: the target's own core, if any, stays the only
// one. Call it last: destructors of static objects and buffered output are lost.
[[noreturn]] void die_by_signal(int signal);

}  // namespace shadowprof
