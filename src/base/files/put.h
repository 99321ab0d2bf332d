// Writes text to a stream that is not null. Throws nothing if the write fails: only
// std::ferror(out) tells.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace shadowprof {

inline void put(std::FILE* out, std::string_view text) {
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), out));
}

template <typename First, typename... Args>
void put(std::FILE* out, fmt::format_string<First, Args...> format, First&& first, Args&&... args) {
    const std::string text =
        fmt::format(format, std::forward<First>(first), std::forward<Args>(args)...);
    put(out, std::string_view(text));
}

}  // namespace shadowprof
