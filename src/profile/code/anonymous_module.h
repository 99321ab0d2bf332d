// Names of the pseudo-modules that stand for code without a file, such as JIT code.
#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace shadowprof {

// The pseudo-module of the first process.
inline constexpr std::string_view anonymous_module = "[anon]";

// The pseudo-module of another process, whose code is unrelated to that of other processes at the
// same addresses.
inline std::string anonymous_module_of(pid_t process) {
    return fmt::format("[anon {}]", process);
}

// The reverse of anonymous_module_of(); nothing for any other path.
inline std::optional<pid_t> process_of_anonymous_module(std::string_view path) {
    constexpr std::string_view start = "[anon ", end = "]";
    if (!path.starts_with(start) || !path.ends_with(end)) return std::nullopt;
    path = path.substr(start.size(), path.size() - start.size() - end.size());
    pid_t process = 0;
    const auto parsed = std::from_chars(path.data(), path.data() + path.size(), process);
    if (parsed.ec != std::errc{} || parsed.ptr != path.data() + path.size()) return std::nullopt;
    return process;
}

}  // namespace shadowprof
