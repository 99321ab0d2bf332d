// The modules of several profiles under common numbers: what merging and comparing begin with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace shadowprof {

// Two modules are the same if they have equal keys: the build-id or, where there is none, the path.
// One with and one without a build-id are never the same file.
std::string module_key(const Module& module);

// Pseudo-modules, as "[vdso]" and "[anon]", are in all programs.
bool is_pseudo_module(const Module& module);

class JointModules {
  public:
    // The common numbers of `modules`, in their order. Of modules that are the same the path that
    // comes first in the alphabet is kept, and the larger size: so the list depends on what was
    // added alone, but for its order.
    std::vector<std::uint32_t> add(const std::vector<Module>& modules);

    // By common number.
    const std::vector<Module>& list() const { return list_; }

    // Numbers the list anew by keys. Returns the new numbers of the old ones.
    std::vector<std::uint32_t> sort();

  private:
    std::map<std::string, std::uint32_t> numbers_;  // by key
    std::vector<Module> list_;
};

// Gives `location` the number of its module among `numbers`. False if its profile has no such
// module.
inline bool renumber(CodeLocation& location, const std::vector<std::uint32_t>& numbers) {
    if (location.module >= numbers.size()) return false;
    location.module = numbers[location.module];
    return true;
}

}  // namespace shadowprof
