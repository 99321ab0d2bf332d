#include "cli/burst_values.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "cli/values.h"

namespace shadowprof {
namespace {

using std::string_view;

// The first one is what a bare number means. None ends as one before it does.
constexpr EventKinds event_choices[] = {{true, true}, {true, false}, {false, true}};

struct LengthRow {
    LengthKind kind;
    string_view name;
    bool ProfileKinds::*collected;
    std::uint64_t usual;
};
constexpr LengthRow length_rows[length_kinds] = {
    {LengthKind::edge, "edge", &ProfileKinds::edges, 1},
    {LengthKind::path, "path", &ProfileKinds::paths, 1},
    {LengthKind::call, "call", &ProfileKinds::calls, 1},
    {LengthKind::value, "value", &ProfileKinds::values, 10},
    {LengthKind::hazard, "hazard", &ProfileKinds::hazards, 100},
};

// Of references, where they are streams as well.
constexpr std::uint64_t usual_stream_length = 1000;

// Beyond, numbers of events could not be added up.
constexpr std::uint64_t most_events = 1'000'000'000'000;

Error not_accepted_every() {
    return {
        ErrorCode::usage, 0,
        "accepted is a whole number from 1 to 1000G, also with k, M or G, and behind it what is "
        "counted: 1000, 10kcalls, 500backedges, 1kcalls+backedges"};
}

Error not_accepted_length() {
    return {ErrorCode::usage, 0,
            "accepted is a list of kinds, of edge, path, value, call and hazard, each with a whole "
            "number "
            "from 1 to 1000G: edge:1, path:50,value:10 (methods are derived from edges)"};
}

Result<BurstLength> parse_length(string_view text) {
    const auto colon = text.find(':');
    const auto* row =
        std::find_if(std::begin(length_rows), std::end(length_rows),
                     [&](const LengthRow& each) { return each.name == text.substr(0, colon); });
    if (colon == string_view::npos || row == std::end(length_rows)) return not_accepted_length();
    const auto events = parse_count(text.substr(colon + 1), 1);
    if (!events || *events > most_events) return not_accepted_length();
    return BurstLength{row->kind, *events};
}

std::uint64_t& length_in(WindowOptions& bursts, LengthKind kind) {
    if (kind == LengthKind::hazard) return bursts.reference_length;
    return kind == LengthKind::value ? bursts.value_length
                                     : bursts.plan.lengths[static_cast<BurstKind>(kind)];
}
static_assert(static_cast<int>(BurstKind::edge) == static_cast<int>(LengthKind::edge));
static_assert(static_cast<int>(BurstKind::path) == static_cast<int>(LengthKind::path));
static_assert(static_cast<int>(BurstKind::call) == static_cast<int>(LengthKind::call));

}  // namespace

Result<EveryValue> parse_every(string_view text) {
    EventKinds events = event_choices[0];
    for (const EventKinds choice : event_choices) {
        if (!text.ends_with(name(choice))) continue;
        events = choice;
        text.remove_suffix(name(choice).size());
        break;
    }
    const auto every = parse_count(text, 1);
    if (!every || *every > most_events) return not_accepted_every();
    return EveryValue{*every, events};
}

string_view name(LengthKind kind) {
    return length_rows[static_cast<std::size_t>(kind)].name;
}

Result<std::vector<BurstLength>> parse_burst_lengths(string_view text) {
    const auto members = split_list(text);
    if (!members) return not_accepted_length();
    std::vector<BurstLength> lengths;
    for (const string_view member : *members) {
        TRY_ASSIGN(const BurstLength length, parse_length(member));
        lengths.push_back(length);
    }
    return lengths;
}

WindowOptions bursts_of(const EveryValue& every, const ProfileKinds& collected) {
    WindowOptions bursts;
    bursts.plan.every = every.every;
    bursts.plan.events = every.events;
    for (const LengthRow& row : length_rows)
        length_in(bursts, row.kind) = collected.*row.collected ? row.usual : 0;
    // Hazards and streams are of the same bursts.
    if (collected.streams) bursts.reference_length = usual_stream_length;
    return bursts;
}

Result<void> set_length(WindowOptions& bursts, const BurstLength& length) {
    if (length_of(bursts, length.kind) == 0)
        return Error{ErrorCode::usage, 0,
                     fmt::format("{} profiles are not collected", name(length.kind))};
    length_in(bursts, length.kind) = length.events;
    return {};
}

std::uint64_t length_of(const WindowOptions& bursts, LengthKind kind) {
    if (kind == LengthKind::hazard) return bursts.reference_length;
    return kind == LengthKind::value ? bursts.value_length
                                     : bursts.plan.lengths[static_cast<BurstKind>(kind)];
}

std::string lengths_text(const WindowOptions& bursts) {
    std::vector<std::string> texts;
    for (const LengthRow& row : length_rows)
        if (const auto length = length_of(bursts, row.kind); length != 0)
            texts.push_back(fmt::format("{}:{}", row.name, length));
    return fmt::format("{}", fmt::join(texts, ","));
}

}  // namespace shadowprof
