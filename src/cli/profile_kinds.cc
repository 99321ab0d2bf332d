#include "cli/profile_kinds.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/suggest.h"
#include "cli/values.h"

namespace shadowprof {
namespace {

using std::string_view;

struct KindRow {
    string_view name;
    ProfileKinds collects;
};
constexpr ProfileKinds no_kinds{false, false, false, false, false, false, false};
constexpr ProfileKinds all_kinds{true, true, true, true, true, true, true};
constexpr KindRow kind_rows[] = {
    {"edge", {true, false, false, false, false, false}},
    {"path", {false, true, false, false, false, false}},
    {"value", {false, false, true, false, false, false}},
    {"call", {false, false, false, true, false, false}},
    {"method", {true, false, false, true, false, false}},  // derived from edges and calls
    {"latency", {false, false, false, false, false, true}},
    {"stream", {false, false, false, false, false, false, true}},
    {"hazard", {false, false, false, false, true, false}},
};

Error unknown_kind(string_view typed) {
    std::array<string_view, std::size(kind_rows)> names;
    std::ranges::transform(kind_rows, names.begin(), &KindRow::name);
    return {ErrorCode::usage, 0,
            did_you_mean(typed, names) +
                "accepted is a list of edge, path, value, call, method, latency, stream and "
                "hazard, or all"};
}

}  // namespace

Result<ProfileKinds> parse_profile_kinds(string_view text) {
    if (text == "all") return all_kinds;
    ProfileKinds kinds = no_kinds;
    TRY_ASSIGN(const auto names, split_list(text));
    for (const string_view name : names) {
        const auto row = std::ranges::find(kind_rows, name, &KindRow::name);
        if (row == std::end(kind_rows)) return unknown_kind(name);
        kinds = both(kinds, row->collects);
    }
    return kinds;
}

std::string profile_kinds_text(const ProfileKinds& kinds) {
    std::vector<string_view> names;
    for (const KindRow& row : kind_rows)
        if (contains(kinds, row.collects)) names.push_back(row.name);
    return fmt::format("{}", fmt::join(names, ","));
}

ProfileKinds both(const ProfileKinds& a, const ProfileKinds& b) {
    return {a.edges || b.edges,    a.paths || b.paths,     a.values || b.values,
            a.calls || b.calls,    a.hazards || b.hazards, a.latency || b.latency,
            a.streams || b.streams};
}

bool contains(const ProfileKinds& all, const ProfileKinds& some) {
    return both(all, some) == all;
}

}  // namespace shadowprof
