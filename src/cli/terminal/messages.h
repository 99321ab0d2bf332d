// Messages to the user: one line each on standard error, with the program's name in front. A
// message that cannot be written is lost without an error.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "base/files/put.h"

namespace shadowprof {

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
    const std::string message = fmt::format(format, std::forward<Args>(args)...);
    put(stderr, "shadowprof: {}\n", message);
}

}  // namespace shadowprof
