#include "report/lists/name_filter.h"

#include "probe/glob.h"
#include "report/symbols/location_name.h"

namespace shadowprof {

Result<void> check_name_filter(std::string_view pattern) {
    if (pattern.find("operator[") != std::string_view::npos) return {};
    return check_glob(pattern);
}

NameFilter::NameFilter(std::string pattern)
    : pattern_(std::move(pattern)), is_glob_(!glob_error(pattern_)) {}

bool NameFilter::matches(std::string_view function) const {
    if (pattern_.empty()) return true;
    const auto is_meant = [&](std::string_view name) {
        return name == pattern_ || (is_glob_ && glob_matches(pattern_, name));
    };
    return is_meant(function) || is_meant(without_arguments(function));
}

bool NameFilter::matches(const std::vector<Module>& modules, SymbolSource& symbols,
                         CodeLocation location) const {
    if (pattern_.empty()) return true;
    const std::string_view full = symbols.symbol(location).function;
    return (!full.empty() && matches(full)) || matches(function_name(modules, symbols, location));
}

}  // namespace shadowprof
