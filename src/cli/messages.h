// Messages to the user: standard error, one line each, behind the program's name.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace shadowprof {

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
    fmt::print(stderr, "shadowprof: {}\n", fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace shadowprof
