// Which functions a user means.
#pragma once

#include <string>
#include <string_view>

#include "report/symbols/symbol_source.h"

namespace shadowprof {

// A name, with or without the arguments of C++, or a pattern of it, see src/probe/glob.h. What is
// no pattern, as `operator[`, is a name alone.
class NameFilter {
  public:
    explicit NameFilter(std::string pattern);

    // An empty one matches all. `function` has its arguments, if they are known.
    bool matches(std::string_view function) const;
    // The function around a location.
    bool matches(const std::vector<Module>& modules, SymbolSource& symbols,
                 CodeLocation location) const;
    const std::string& pattern() const { return pattern_; }

  private:
    std::string pattern_;
    bool is_glob_;
};

}  // namespace shadowprof
