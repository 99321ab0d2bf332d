#include "cli/options/burst_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text/suggest.h"
#include "cli/options/values.h"

namespace shadowprof {
namespace {

using std::string_view;

// A number without events means the first choice. Texts are matched by their ends: no name may end
// in the name of an earlier choice.
constexpr EventKinds event_choices[] = {{true, true}, {true, false}, {false, true}};

// With larger numbers, sums of events could overflow.
constexpr std::uint64_t max_events = 1'000'000'000'000;

Result<void> check_collected(BurstedKind kind, const ProfileKinds& collected) {
    if (collected.has_any_of(row_of(kind).same_bursts)) return {};
    return Error{ErrorCode::usage, 0,
                 fmt::format("{0} is not collected; add {0} to --profiles", name(kind))};
}

std::string meant_kind(string_view typed) {
    std::array<string_view, bursted_kinds> names;
    std::ranges::transform(bursted_rows, names.begin(), &BurstedRow::name);
    return did_you_mean(typed, names);
}

// Suggests event names for the letters behind a number.
std::string meant_events(string_view text) {
    std::array<string_view, std::size(event_choices)> names;
    std::ranges::transform(event_choices, names.begin(),
                           [](const EventKinds& events) { return name(events); });
    const auto at = std::min(text.find_first_not_of("0123456789.kMG"), text.size());
    return did_you_mean(text.substr(at), names);
}

Error not_accepted_every(const std::string& meant) {
    return {ErrorCode::usage, 0,
            meant +
                "must be a whole number from 1 to 1000G, also with k, M or G, then optionally the "
                "events to count: 1000, 10kcalls, 500backedges, 1kcalls+backedges; then optionally "
                "numbers for single kinds: 1000,value:50k"};
}

Error not_accepted_length(const std::string& meant) {
    return {ErrorCode::usage, 0,
            meant +
                "must be a list of KIND:N, with edge, path, value, call, hazard or stream, and a "
                "whole number from 1 to 1000G, or 0 for never: edge:1,path:50,value:10 (methods "
                "are derived from edges)"};
}

using NotAccepted = Error (*)(const std::string& meant);

// Parses "value:50k". `least` is the least number of events.
Result<EventsOfKind> parse_events_of_kind(string_view text, std::uint64_t least,
                                          NotAccepted not_accepted) {
    const auto colon = std::min(text.find(':'), text.size());
    const string_view kind = text.substr(0, colon);
    const auto row = std::ranges::find(bursted_rows, kind, &BurstedRow::name);
    if (row == std::end(bursted_rows)) return not_accepted(meant_kind(kind));
    if (colon == text.size()) return not_accepted({});
    const auto events = parse_count(text.substr(colon + 1), least);
    if (!events || *events > max_events) return not_accepted({});
    return EventsOfKind{static_cast<BurstedKind>(row - bursted_rows.begin()), *events};
}

Result<EveryValue> parse_common_every(string_view text) {
    const string_view typed = text;
    EventKinds events = event_choices[0];
    for (const EventKinds choice : event_choices) {
        if (!text.ends_with(name(choice))) continue;
        events = choice;
        text.remove_suffix(name(choice).size());
        break;
    }
    const auto every = parse_count(text, 1);
    if (!every || *every > max_events) return not_accepted_every(meant_events(typed));
    return EveryValue{*every, events, {}};
}

// Returns "edge:1" for each collected kind for which `number` returns a number.
template <typename Number>
std::vector<std::string> texts_by_kind(const ProfileKinds& collected, Number number) {
    std::vector<std::string> texts;
    for (const BurstedRow& row : bursted_rows) {
        if (!collected.has_any_of(row.kind)) continue;
        if (const std::optional<std::uint64_t> events = number(row))
            texts.push_back(fmt::format("{}:{}", row.name, *events));
    }
    return texts;
}

}  // namespace

string_view name(BurstedKind kind) {
    return row_of(kind).name;
}

void EveryValue::add(const EveryValue& more) {
    if (more.every != 0) {
        every = more.every;
        events = more.events;
    }
    own.insert(own.end(), more.own.begin(), more.own.end());
}

Result<EveryValue> parse_every(string_view text) {
    const auto members = split_list(text);
    if (!members) return not_accepted_every({});
    EveryValue value;
    for (const string_view member : *members) {
        if (member.find(':') != string_view::npos) {
            TRY_ASSIGN(const auto own, parse_events_of_kind(member, 1, not_accepted_every));
            value.own.push_back(own);
            continue;
        }
        if (value.every != 0) return not_accepted_every({});
        TRY_ASSIGN(const auto common, parse_common_every(member));
        value.add(common);
    }
    return value;
}

Result<std::vector<EventsOfKind>> parse_burst_lengths(string_view text) {
    const auto members = split_list(text);
    if (!members) return not_accepted_length({});
    std::vector<EventsOfKind> lengths;
    for (const string_view member : *members) {
        TRY_ASSIGN(const auto length, parse_events_of_kind(member, 0, not_accepted_length));
        lengths.push_back(length);
    }
    return lengths;
}

Result<BurstOptions> bursts_of(const EveryValue& every, const ProfileKinds& collected) {
    if (every.every == 0)
        return Error{ErrorCode::usage, 0,
                     "a number for all other kinds must come first, as in --every=1000,value:50k"};
    BurstOptions bursts;
    for (const BurstedRow& row : bursted_rows)
        if (collected.has_any_of(row.kind)) row.length(bursts) = row.usual_length;
    TRY(set_every(bursts, every, collected));
    return bursts;
}

Result<void> set_every(BurstOptions& bursts, const EveryValue& every,
                       const ProfileKinds& collected) {
    if (every.every != 0) {
        bursts.plan.every = every.every;
        bursts.plan.events = every.events;
    }
    for (const EventsOfKind& own : every.own) {
        TRY(check_collected(own.kind, collected));
        row_of(own.kind).own_every(bursts) = own.events;
    }
    return {};
}

Result<void> set_length(BurstOptions& bursts, const EventsOfKind& length,
                        const ProfileKinds& collected) {
    TRY(check_collected(length.kind, collected));
    row_of(length.kind).length(bursts) = length.events;
    return {};
}

std::string every_text(const BurstOptions& bursts, const ProfileKinds& collected) {
    BurstOptions own = bursts;
    auto texts = texts_by_kind(collected, [&](const BurstedRow& row) {
        const auto every = row.own_every(own);
        return every == 0 ? std::nullopt : std::optional(every);
    });
    texts.insert(texts.begin(), fmt::format("{}{}", bursts.plan.every, name(bursts.plan.events)));
    return fmt::format("{}", fmt::join(texts, ","));
}

std::string lengths_text(const BurstOptions& bursts, const ProfileKinds& collected) {
    BurstOptions own = bursts;
    const auto texts = texts_by_kind(
        collected, [&](const BurstedRow& row) { return std::optional(row.length(own)); });
    return fmt::format("{}", fmt::join(texts, ","));
}

}  // namespace shadowprof
