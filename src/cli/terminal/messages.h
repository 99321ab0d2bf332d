// Messages to the user: standard error, one line each, behind the program's name. Where they cannot
// be written, nothing else happens.
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
