#include "profile/code/script_functions.h"

namespace shadowprof {

CodeLocation ScriptFunctions::add(std::string_view file, std::uint32_t first_line,
                                  std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (names_.size() >= max_functions) file = {}, first_line = 0, name = "(others)";
    const auto module = modules_.script(std::string(python_script_prefix).append(file));
    std::uint64_t name_hash = 0;
    for (const char c : name) name_hash = name_hash * 31 + static_cast<unsigned char>(c);
    const CodeLocation at{module, (name_hash & 0xf'ffff) << 32 | first_line};
    names_.try_emplace(at, name);
    return at;
}

std::vector<ScriptFunction> ScriptFunctions::functions() const {
    const std::lock_guard lock(mutex_);
    std::vector<ScriptFunction> functions;
    for (const auto& [at, name] : names_) functions.push_back({at, name});
    return functions;
}

}  // namespace shadowprof
