#include "profile/merge/joint_modules.h"

#include <algorithm>

namespace shadowprof {

std::string module_key(const Module& module) {
    // The prefixes keep paths and build-ids apart.
    return module.build_id.empty() ? "path " + module.path : "build-id " + module.build_id;
}

bool is_pseudo_module(const Module& module) {
    return module.path.starts_with('[');
}

std::vector<std::uint32_t> JointModules::add(const std::vector<Module>& modules) {
    std::vector<std::uint32_t> numbers;
    for (const Module& module : modules) {
        const auto next = static_cast<std::uint32_t>(list_.size());
        const auto [it, is_new] = numbers_.try_emplace(module_key(module), next);
        numbers.push_back(it->second);
        if (is_new) {
            list_.push_back(module);
            continue;
        }
        Module& known = list_[it->second];
        known.path = std::min(known.path, module.path);
        known.size_bytes = std::max(known.size_bytes, module.size_bytes);
    }
    return numbers;
}

std::vector<std::uint32_t> JointModules::sort() {
    std::vector<std::uint32_t> new_numbers(list_.size());
    std::vector<Module> sorted;
    for (auto& [key, number] : numbers_) {
        const auto next = static_cast<std::uint32_t>(sorted.size());
        sorted.push_back(std::move(list_[number]));
        new_numbers[number] = next;
        number = next;
    }
    list_ = std::move(sorted);
    return new_numbers;
}

}  // namespace shadowprof
