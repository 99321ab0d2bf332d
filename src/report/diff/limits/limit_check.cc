#include "report/diff/limits/limit_check.h"

#include <algorithm>
#include <cmath>

#include "base/text/suggest.h"
#include "base/text/text_format.h"
#include "report/lists/name_filter.h"
#include "report/symbols/location_name.h"

namespace shadowprof {
namespace {

bool has_wildcard(std::string_view pattern) {
    return pattern.find_first_of("*?[") != std::string_view::npos;
}

Error unusable(const Limit& limit, std::string_view why) {
    return {ErrorCode::unsupported, 0,
            fmt::format("--fail-if '{}': {}", printable(limit.text), why)};
}

Error nothing_meant(const Limit& limit, std::string_view what,
                    const std::vector<std::string>& known) {
    const std::vector<std::string_view> views(known.begin(), known.end());
    const std::string near = printable(nearest(limit.pattern, views));
    return {ErrorCode::not_found, 0,
            fmt::format("--fail-if '{}': neither profile has such a {}{}", printable(limit.text),
                        what, near.empty() ? "" : fmt::format("; did you mean '{}'?", near))};
}

// The entries of a table to which a limit applies.
using Entries = std::vector<const DiffEntry*>;

Result<Entries> functions_meant(const Limit& limit, const DiffTable& table,
                                const LimitOptions& options) {
    if (!table.missing.empty()) return unusable(limit, table.missing);
    if (limit.unit == LimitUnit::count && table.unit == DiffUnit::share)
        return unusable(
            limit, "only exact profiles (run --mode=exact) are compared by counts; give % or pp");
    if (limit.unit == LimitUnit::points && table.unit != DiffUnit::share)
        return unusable(
            limit,
            "pp is for shares, and these profiles are compared by counts; give % or a number");
    const auto share = [&](const Measured& measured, std::size_t side) {
        if (table.unit == DiffUnit::share) return measured.value;
        return table.totals[side] > 0 ? measured.value / table.totals[side] : 0;
    };
    const NameFilter filter(limit.pattern);
    Entries meant;
    std::vector<std::string> known;
    bool any = false;
    for (const DiffEntry& entry : table.entries) {
        known.push_back(without_arguments(entry.name));
        if (!filter.matches(entry.name)) continue;
        any = true;
        const double larger = std::max(share(entry.base_or_zero, 0), share(entry.next_or_zero, 1));
        if (!has_wildcard(limit.pattern) || larger >= options.min_share) meant.push_back(&entry);
    }
    if (!any) return nothing_meant(limit, "function", known);
    return meant;
}

Result<Entries> level_meant(const Limit& limit, const DiffTable& table) {
    if (!table.missing.empty())
        return unusable(limit, table.missing + " (run --profiles=edge,path,call,latency)");
    std::vector<std::string> known;
    for (const DiffEntry& entry : table.entries) {
        if (entry.name == limit.pattern) return Entries{&entry};
        known.push_back(entry.name);
    }
    std::string list;
    for (const std::string& level : known) list += (list.empty() ? "" : ", ") + printable(level);
    return Error{ErrorCode::not_found, 0,
                 fmt::format("--fail-if '{}': there is no such level of memory; the profiles tell "
                             "{} apart",
                             printable(limit.text), list)};
}

// The change in the direction of the limit, in the limit's unit.
double badness(const Limit& limit, const LimitTest& test) {
    const double change = limit.unit == LimitUnit::percent ? test.relative : test.difference();
    return limit.falls ? -change : change;
}

LimitTest tested(const Limit& limit, const DiffEntry& entry, DiffUnit unit, double widening) {
    LimitTest test{.name = entry.name,
                   .unit = unit,
                   .base = entry.base_or_zero.value,
                   .next = entry.next_or_zero.value,
                   .relative = entry.relative(),
                   .error = difference_error(entry.base_or_zero, entry.next_or_zero)};
    if (test.error) *test.error *= widening;
    test.beyond = badness(limit, test) > limit.amount;
    test.exceeds = test.beyond && test.error && std::abs(test.difference()) > *test.error;
    return test;
}

bool is_undecided(const LimitTest& test) {
    return test.beyond && !test.error;
}

void conclude(LimitResult& result) {
    auto& tests = result.tests;
    const auto exceeding = std::count_if(tests.begin(), tests.end(),
                                         [](const LimitTest& test) { return test.exceeds; });
    std::stable_sort(tests.begin(), tests.end(), [&](const LimitTest& a, const LimitTest& b) {
        if (a.exceeds != b.exceeds) return a.exceeds;
        if (is_undecided(a) != is_undecided(b)) return is_undecided(a);
        return badness(result.limit, a) > badness(result.limit, b);
    });
    result.tested = tests.size();
    result.undecided =
        static_cast<std::size_t>(std::count_if(tests.begin(), tests.end(), is_undecided));
    tests.resize(
        std::min(tests.size(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(exceeding, 1))));
    if (exceeding > 0) {
        result.verdict = Verdict::exceeded;
    } else if (result.undecided > 0) {
        result.verdict = Verdict::undecidable;
        result.why = "errors are not known: too few samples";
    }
}

DiffUnit unit_of_total(const Limit& limit) {
    if (limit.total.ends_with(".bytes")) return DiffUnit::bytes;
    return limit.of == LimitOf::instructions ? DiffUnit::instructions : DiffUnit::executions;
}

LimitResult check_total(const Limit& limit, const DiffTotal& total) {
    DiffEntry entry;
    entry.name = total.name;
    entry.base_or_zero = {total.base, 0};
    entry.next_or_zero = {total.next, 0};
    LimitResult result{.limit = limit, .tests = {tested(limit, entry, unit_of_total(limit), 1)}};
    conclude(result);
    return result;
}

const DiffTable& table_of(const Diff& diff, const Limit& limit) {
    if (limit.of == LimitOf::function) return diff.table(DiffKind::functions);
    if (limit.of == LimitOf::entries) return diff.table(DiffKind::entries);
    return diff.table(DiffKind::levels);
}

// `words` are those of Diff::missing_totals.
bool is_among(std::string_view total, std::string_view words) {
    const auto dot = words.find('.');
    if (!total.starts_with(fmt::format("{}.", words.substr(0, dot)))) return false;
    return dot == std::string_view::npos || total.ends_with(words.substr(dot));
}

// A system call that neither run makes is made as often in both.
Result<DiffTotal> total_meant(const Diff& diff, const Limit& limit) {
    if (!diff.no_totals.empty()) return unusable(limit, diff.no_totals);
    const auto found = std::ranges::find(diff.totals, limit.total, &DiffTotal::name);
    if (found != diff.totals.end()) return *found;
    for (const auto& [words, why] : diff.missing_totals)
        if (is_among(limit.total, words)) return unusable(limit, why);
    return DiffTotal{.name = limit.total};
}

// The limit is of entries.
Result<Entries> entries_meant(const Diff& diff, const Limit& limit, const LimitOptions& options) {
    const DiffTable& table = table_of(diff, limit);
    return limit.of_functions() ? functions_meant(limit, table, options)
                                : level_meant(limit, table);
}

}  // namespace

std::string_view name(Verdict verdict) {
    constexpr std::string_view names[] = {"kept", "exceeded", "undecidable"};
    return names[static_cast<std::size_t>(verdict)];
}

Result<std::vector<LimitResult>> check_limits(const Diff& diff, std::span<const Limit> limits,
                                              const LimitOptions& options) {
    std::vector<Entries> meant;
    std::size_t tests = 0;
    for (const Limit& limit : limits) {
        Entries& entries = meant.emplace_back();
        if (!limit.of_entries()) continue;
        TRY_ASSIGN(entries, entries_meant(diff, limit, options));
        tests += entries.size();
    }
    std::vector<LimitResult> results;
    for (std::size_t i = 0; i < limits.size(); ++i) {
        if (!limits[i].of_entries()) {
            TRY_ASSIGN(const DiffTotal total, total_meant(diff, limits[i]));
            results.push_back(check_total(limits[i], total));
            continue;
        }
        const DiffTable& table = table_of(diff, limits[i]);
        const double widening = Confidence{tests, table.degrees_of_freedom}.widening();
        LimitResult result{.limit = limits[i]};
        for (const DiffEntry* entry : meant[i])
            result.tests.push_back(tested(limits[i], *entry, table.unit, widening));
        conclude(result);
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace shadowprof
