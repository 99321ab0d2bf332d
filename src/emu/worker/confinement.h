// Takes from this process, for ever, what an emulator does not need.
#pragma once

#include "base/result.h"

namespace shadowprof {

// Allows from now on only: messages on `socket_fd`, reads at an offset from descriptors that came
// through it, anonymous memory, the signals of its own faults, the clock, and the end. Any other
// system call kills the process. It dies with its parent, leaves no core, and is the first to go
// when memory is short.
Result<void> confine_worker(int socket_fd);

}  // namespace shadowprof
