#include "report/lists/hot_scripts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "profile/code/script_functions.h"

namespace shadowprof {
namespace {

std::vector<bool> scripts_among(const std::vector<Module>& modules) {
    std::vector<bool> scripts;
    for (const Module& module : modules)
        scripts.push_back(script_of_module(module.path).has_value());
    return scripts;
}

// The functions of scripts in a stack, the innermost first, each once.
std::vector<CodeLocation> scripts_in(const Stack& stack, const std::vector<bool>& is_script) {
    std::vector<CodeLocation> functions;
    for (auto at = stack.frames.rbegin(); at != stack.frames.rend(); ++at)
        if (at->module < is_script.size() && is_script[at->module] &&
            std::find(functions.begin(), functions.end(), *at) == functions.end())
            functions.push_back(*at);
    return functions;
}

}  // namespace

std::vector<HotScriptFunction> hot_scripts(const Profile& profile, StackWeight weight) {
    const auto is_script = scripts_among(profile.modules);
    if (std::ranges::find(is_script, true) == is_script.end()) return {};
    std::map<CodeLocation, HotScriptFunction> functions;
    double total = 0;
    for (const Stack& stack : profile.stacks) {
        const auto executed = amount(stack, weight);
        total += static_cast<double>(executed);
        for (bool is_own = true; const CodeLocation at : scripts_in(stack, is_script)) {
            auto& function = functions[at];
            function.at = at;
            function.with_callees += executed;
            if (std::exchange(is_own, false)) function.own += executed;
        }
    }
    std::vector<HotScriptFunction> list;
    for (auto& [at, function] : functions) {
        if (function.with_callees == 0) continue;
        function.own_share = static_cast<double>(function.own) / total;
        function.share = static_cast<double>(function.with_callees) / total;
        list.push_back(function);
    }
    std::ranges::stable_sort(list, [](const HotScriptFunction& a, const HotScriptFunction& b) {
        return a.own != b.own ? a.own > b.own : a.with_callees > b.with_callees;
    });
    return list;
}

}  // namespace shadowprof
