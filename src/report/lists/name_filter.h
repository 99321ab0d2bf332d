// Selects functions by a user's name or pattern.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// Checks a text that a user gave to choose functions. Texts with `operator[` are names, whatever
// their brackets are. Errors: usage; see check_glob().
Result<void> check_name_filter(std::string_view pattern);

// A name, with or without the arguments of C++, or a pattern, see src/probe/glob.h. A text that is
// not a valid pattern, such as `operator[`, is only a name.
class NameFilter {
  public:
    explicit NameFilter(std::string pattern);

    // An empty filter matches all. `function` has its arguments if they are known.
    bool matches(std::string_view function) const;
    // Matches the function around a location.
    bool matches(const std::vector<Module>& modules, SymbolSource& symbols,
                 CodeLocation location) const;
    const std::string& pattern() const { return pattern_; }

  private:
    std::string pattern_;
    bool is_glob_;
};

}  // namespace shadowprof
