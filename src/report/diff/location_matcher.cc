#include "report/diff/location_matcher.h"

#include <algorithm>

#include "base/text/text_format.h"
#include "profile/merge/joint_modules.h"
#include "report/diff/code_shape.h"

namespace shadowprof {
namespace {

constexpr std::uint32_t no_module = UINT32_MAX;

}  // namespace

std::string_view name(MatchedBy by) {
    constexpr std::string_view names[] = {"address", "function", "offset", "line", "nothing"};
    return names[static_cast<std::size_t>(by)];
}

LocationMatcher::LocationMatcher(ProfileFile& base, ProfileFile& next,
                                 const std::vector<FilePair>& pairs)
    : files_{&base, &next}, modules_(match_modules(files_, pairs)) {
    match_functions();
}

void LocationMatcher::match_functions() {
    std::vector<std::array<CodeShape, 2>> shapes;
    for (const DiffSide side : both_sides) {
        file(side).symbols.for_each(
            [&](CodeLocation location, const CodeSymbol& symbol, std::string_view text) {
                if (!renumber(location, modules_.numbers[index_of(side)]) ||
                    symbol.function.empty() || module(location.module).same_build)
                    return;
                const auto next = static_cast<std::uint32_t>(functions_.size());
                const auto [it, is_new] = function_numbers_.try_emplace(
                    {location.module, std::string(symbol.function)}, next);
                if (is_new) functions_.emplace_back(), shapes.emplace_back();
                Function& function = functions_[it->second];
                function.known[index_of(side)] = true;
                const auto start = symbol.function_start.value_or(location.address);
                if (start == location.address) {
                    function.first_line[index_of(side)] = symbol.line;
                    function.file[index_of(side)] = base_name(symbol.file);
                }
                shapes[it->second][index_of(side)].add(location.address - start, text,
                                                       symbol.line != 0);
            });
    }
    for (std::size_t i = 0; i < functions_.size(); ++i) {
        const auto& [base, next] = shapes[i];
        Function& function = functions_[i];
        if (!function.known[0] || !function.known[1])
            ++(function.known[0] ? matches_.only_base : matches_.only_next);
        else if (is_same_code(base, next))
            function.by = MatchedBy::offset, ++matches_.by_offset;
        else if (base.has_lines() && next.has_lines())
            function.by = MatchedBy::line, ++matches_.by_line;
        else
            ++matches_.by_name;
    }
}

MatchKey LocationMatcher::unmatched(DiffSide side, CodeLocation location) const {
    // Module numbers are so small that the scopes of the two sides cannot collide.
    const std::uint32_t scope = location.module * 2 + static_cast<std::uint32_t>(index_of(side));
    return {MatchedBy::nothing, scope, location.address};
}

MatchKey LocationMatcher::line_place(DiffSide side, CodeLocation location, std::uint32_t number) {
    const CodeSymbol& symbol = file(side).symbols.symbol(location);
    const Function& function = functions_[number];
    if (symbol.line == 0) return unmatched(side, location);
    const std::string source(base_name(symbol.file));
    const bool counted = function.first_line[0] != 0 && function.first_line[1] != 0 &&
                         function.file[0] == source && function.file[1] == source;
    const std::uint32_t line =
        counted ? symbol.line - function.first_line[index_of(side)] : symbol.line;
    const auto next = static_cast<std::uint64_t>(lines_.size());
    const auto it = lines_.try_emplace({source, line}, next).first;
    return {MatchedBy::line, number, it->second};
}

MatchKey LocationMatcher::place(DiffSide side, CodeLocation location) {
    CodeLocation common = location;
    if (!renumber(common, modules_.numbers[index_of(side)]))
        return unmatched(side, {no_module / 2, 0});
    if (module(common.module).same_build)
        return {MatchedBy::address, common.module, common.address};
    const CodeSymbol& symbol = file(side).symbols.symbol(location);
    const auto found = function_numbers_.find({common.module, std::string(symbol.function)});
    if (found == function_numbers_.end()) return unmatched(side, location);
    const Function& function = functions_[found->second];
    if (function.by == MatchedBy::line) return line_place(side, location, found->second);
    if (function.by != MatchedBy::offset) return unmatched(side, location);
    return {MatchedBy::offset, found->second,
            location.address - symbol.function_start.value_or(location.address)};
}

MatchKey LocationMatcher::function(DiffSide side, CodeLocation location) {
    constexpr std::uint64_t no_function = UINT64_MAX;
    CodeLocation common = location;
    if (!renumber(common, modules_.numbers[index_of(side)]))
        return unmatched(side, {no_module / 2, 0});
    const CodeSymbol& symbol = file(side).symbols.symbol(location);
    if (module(common.module).same_build)
        return {MatchedBy::address, common.module, symbol.function_start.value_or(no_function)};
    const auto found = function_numbers_.find({common.module, std::string(symbol.function)});
    if (found != function_numbers_.end()) return {MatchedBy::function, 0, found->second};
    return {MatchedBy::function, common.module + 1, no_function};
}

}  // namespace shadowprof
