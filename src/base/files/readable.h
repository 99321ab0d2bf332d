#pragma once

#include <poll.h>

namespace shadowprof {

// Whether a descriptor can be read from, or its other end is closed, now. Never for -1.
inline bool is_readable(int fd) {
    pollfd waiting = {fd, POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
}

}  // namespace shadowprof
