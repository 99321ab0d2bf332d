#include "report/diff/diff_tables.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <tuple>

#include "report/lists/hot_lists.h"
#include "report/lists/methods.h"
#include "report/symbols/location_name.h"

namespace shadowprof {
namespace {

constexpr std::string_view side_name(DiffSide side) {
    return side == DiffSide::base ? "BASE" : "NEW";
}

DiffTable left_out(DiffKind kind, std::string why) {
    return {.kind = kind, .missing = std::move(why)};
}

// Returns why a list's table is missing, or an empty string if both profiles have the list.
template <typename List>
std::string missing(const DiffInput& input, List Profile::*list, std::string_view what) {
    for (const DiffSide side : both_sides)
        if ((input.profile(side).*list).empty())
            return fmt::format("{} has no {}", side_name(side), what);
    return {};
}

DiffUnit unit_of(const DiffInput& input, DiffUnit unit) {
    return input.as_counts() ? unit : DiffUnit::share;
}

// Adds the rounding error of counts. Counts are rounded to whole numbers, at least 1.
std::optional<double> with_rounding(std::optional<double> error, double counts = 1) {
    if (error) *error = std::hypot(*error, counts);
    return error;
}

// The number of a function's stacks, for the rounding error of their counts, and the sum of their
// errors. A function's own error is at most that sum, which is used if the own error is unknown
// because the function's bounds are.
struct StackErrors {
    double stacks = 0;
    std::optional<double> sum = 0;
};

std::map<MatchKey, StackErrors> errors_of_stacks(const DiffInput& input, DiffSide side) {
    std::map<MatchKey, StackErrors> errors;
    for (const Stack& stack : input.profile(side).stacks) {
        if (stack.frames.empty()) continue;
        auto& [stacks, sum] = errors[input.matcher.function(side, stack.frames.back())];
        ++stacks;
        if (sum && stack.error)
            *sum += *stack.error;
        else
            sum.reset();
    }
    return errors;
}

}  // namespace

DiffTable diff_functions(const DiffInput& input) {
    constexpr DiffKind kind = DiffKind::functions;
    TableBuilder<MatchKey> builder;
    for (const DiffSide side : both_sides) {
        const HotFunctions hot = hot_functions(input.profile(side), input.symbols(side));
        if (hot.unit != FunctionWeight::instructions)
            return left_out(kind, fmt::format("{} has no stacks", side_name(side)));
        const auto stack_errors = errors_of_stacks(input, side);
        for (const HotFunction& function : hot.list) {
            const MatchKey place = input.matcher.function(side, function.at);
            const auto weight = static_cast<double>(function.weight);
            const StackErrors& of_stacks = stack_errors.at(place);
            std::optional<double> error = of_stacks.sum;
            if (function.error && function.share > 0)
                error = *function.error * weight / function.share;
            builder.add(place, place.by, {side, {function.at}}, weight,
                        with_rounding(error, of_stacks.stacks));
        }
    }
    DiffTable table = builder.take(kind, unit_of(input, DiffUnit::instructions), input.scales);
    judge(table, input.scales);
    return table;
}

DiffTable diff_entries(const DiffInput& input) {
    constexpr DiffKind kind = DiffKind::entries;
    TableBuilder<MatchKey> builder;
    for (const DiffSide side : both_sides) {
        if (input.profile(side).calls.empty() && input.profile(side).edges.empty())
            return left_out(kind, fmt::format("{} has no calls", side_name(side)));
        for (const FunctionEntry& entry :
             function_entries(input.profile(side), input.symbols(side))) {
            const MatchKey place = input.matcher.function(side, entry.at);
            builder.add(place, place.by, {side, {entry.at}}, static_cast<double>(entry.count),
                        with_rounding(entry.error));
        }
    }
    DiffTable table = builder.take(kind, unit_of(input, DiffUnit::executions), input.scales);
    judge(table, input.scales);
    return table;
}

DiffTable diff_edges(const DiffInput& input) {
    constexpr DiffKind kind = DiffKind::edges;
    if (auto why = missing(input, &Profile::edges, "edges"); !why.empty())
        return left_out(kind, std::move(why));
    using Key = std::tuple<MatchKey, MatchKey, EdgeKind>;
    TableBuilder<Key> builder;
    for (const DiffSide side : both_sides)
        for (const Edge& edge : input.profile(side).edges) {
            const MatchKey from = input.matcher.place(side, edge.from);
            const MatchKey to = input.matcher.place(side, edge.to);
            builder.add({from, to, edge.kind}, std::max(from.by, to.by),
                        {side, {edge.from, edge.to}, std::string(name(edge.kind))},
                        static_cast<double>(edge.count), with_rounding(edge.error));
        }
    DiffTable table = builder.take(kind, unit_of(input, DiffUnit::executions), input.scales);
    judge(table, input.scales);
    return table;
}

DiffTable diff_paths(const DiffInput& input) {
    constexpr DiffKind kind = DiffKind::paths;
    if (auto why = missing(input, &Profile::paths, "paths"); !why.empty())
        return left_out(kind, std::move(why));
    TableBuilder<std::vector<MatchKey>> builder;
    for (const DiffSide side : both_sides)
        for (const Path& path : input.profile(side).paths) {
            std::vector<MatchKey> blocks;
            MatchedBy by = MatchedBy::address;
            for (const CodeLocation block : path.blocks) {
                blocks.push_back(input.matcher.place(side, block));
                by = std::max(by, blocks.back().by);
            }
            const auto length = static_cast<double>(path.instructions);
            std::optional<double> error = with_rounding(path.error);
            if (error) *error *= length;
            builder.add(blocks, by, {side, path.blocks, {}},
                        length * static_cast<double>(path.count), error);
        }
    DiffTable table = builder.take(kind, unit_of(input, DiffUnit::instructions), input.scales);
    judge(table, input.scales);
    return table;
}

void name_entry(DiffEntry& entry, DiffKind kind, const DiffInput& input) {
    if (entry.place.at.empty()) return;
    const auto& modules = input.profile(entry.place.side).modules;
    SymbolSource& symbols = input.symbols(entry.place.side);
    const CodeLocation first = entry.place.at.front(), last = entry.place.at.back();
    const CodeSymbol& symbol = symbols.symbol(first);
    if (first.module < modules.size()) entry.module = modules[first.module].path;
    if (is_by_function(kind)) {
        entry.name = symbol.function.empty() ? function_name(modules, symbols, first)
                                             : std::string(symbol.function);
        return;
    }
    entry.source = source_name(symbol);
    entry.name = location_name(modules, symbols, first);
    if (entry.place.at.size() > 2)
        entry.name += fmt::format(" -> .. {} ..", entry.place.at.size() - 2);
    if (entry.place.at.size() > 1) entry.name += " -> " + location_name(modules, symbols, last);
}

}  // namespace shadowprof
