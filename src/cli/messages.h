// Messages to the user: standard error, one line each, behind the program's name. Where they cannot
// be written, nothing else happens.
#pragma once

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <utility>

#include "base/put.h"

namespace shadowprof {

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
    const std::string message = fmt::format(format, std::forward<Args>(args)...);
    put(stderr, "shadowprof: {}\n", message);
}

// For commands that trace: nobody need read what they say. By a handler, which a target does not
// inherit; what is ignored stays so.
inline void survive_closed_pipes() {
    struct sigaction action;
    sigaction(SIGPIPE, nullptr, &action);
    if (action.sa_handler == SIG_IGN) return;
    action = {};
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace shadowprof
