// Permanently takes rights from this process that an emulator does not need.
#pragma once

#include "base/result.h"

namespace shadowprof {

// From now on allows only messages on `socket_fd`, reads at an offset from descriptors that came
// through it, anonymous memory, signals of its own faults, the clock, and exit. Any other system
// call kills the process. It also dies with its parent, leaves no core file, and is killed first
// when memory is short.
Result<void> confine_worker(int socket_fd);

}  // namespace shadowprof
