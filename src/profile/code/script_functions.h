// The functions of scripts that interpreters execute, and the locations that stand for them in
// stacks.
//
// A script is a pseudo-module, named by its language and its file. The lower half of a function's
// address in it is the line where the function begins; the upper half tells functions of one line
// apart, by their names. So functions are the same in all runs, whatever addresses their code has.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/code/module_table.h"
#include "profile/profile.h"

namespace shadowprof {

constexpr std::uint32_t line_of_script_function(std::uint64_t address) {
    return static_cast<std::uint32_t>(address);
}

inline constexpr std::string_view python_script_prefix = "[python] ";

// The file of a script's module; nothing for any other module.
inline std::optional<std::string_view> script_of_module(std::string_view path) {
    if (!path.starts_with(python_script_prefix)) return std::nullopt;
    return path.substr(python_script_prefix.size());
}

// Thread-safe.
class ScriptFunctions {
  public:
    // `modules` must outlive it.
    explicit ScriptFunctions(ModuleTable& modules) : modules_(modules) {}

    // The location of a function.
    CodeLocation add(std::string_view file, std::uint32_t first_line, std::string_view name);

    std::vector<ScriptFunction> functions() const;

  private:
    // Programs may make functions without end.
    static constexpr std::size_t max_functions = 1 << 14;

    mutable std::mutex mutex_;
    ModuleTable& modules_;
    std::map<CodeLocation, std::string> names_;
};

}  // namespace shadowprof
