// Common numbers for the modules of several profiles, for merging and comparing them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace shadowprof {

// Two modules are the same if they have equal keys: the build-id or, where there is none, the path.
// A module with a build-id and one without are never the same.
std::string module_key(const Module& module);

// Pseudo-modules, such as "[vdso]" and "[anon]", are in all programs.
bool is_pseudo_module(const Module& module);

class JointModules {
  public:
    // Returns the common numbers of `modules`, in their order. Of equal modules, the alphabetically
    // first path and the larger size are kept, so that the list depends only on which modules were
    // added, except for its order.
    std::vector<std::uint32_t> add(const std::vector<Module>& modules);

    // Indexed by common number.
    const std::vector<Module>& list() const { return list_; }

    // Sorts the list by keys. Returns the new numbers, indexed by the old ones.
    std::vector<std::uint32_t> sort();

  private:
    std::map<std::string, std::uint32_t> numbers_;  // from keys
    std::vector<Module> list_;
};

// Sets `location`'s module to its number in `numbers`. Returns false if its profile has no such
// module.
inline bool renumber(CodeLocation& location, const std::vector<std::uint32_t>& numbers) {
    if (location.module >= numbers.size()) return false;
    location.module = numbers[location.module];
    return true;
}

}  // namespace shadowprof
