#include "cli/control/control_command.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/text/suggest.h"
#include "cli/options/burst_values.h"
#include "cli/options/profile_kinds.h"
#include "cli/options/values.h"

namespace shadowprof {
namespace {

using std::string_view;
using Kind = SamplingCommand::Kind;

constexpr string_view spaces = " \t\r";

string_view trimmed(string_view text) {
    const auto first = text.find_first_not_of(spaces);
    if (first == string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

// Applies a command's value. Errors: usage.
using SetValue = Result<void> (*)(SamplingCommand&, string_view value, const ControlledRun&);

Result<void> begin_with_bursts(SamplingCommand& command, const ControlledRun& run) {
    if (!run.bursts)
        return Error{ErrorCode::usage, 0,
                     "this run has no bursts, because it began without --every"};
    command.bursts = *run.bursts;
    return {};
}

Result<void> change_every(SamplingCommand& command, string_view value, const ControlledRun& run) {
    TRY(begin_with_bursts(command, run));
    TRY_ASSIGN(const EveryValue every, parse_every(value));
    return set_every(command.bursts, every, run.collected);
}

Result<void> change_lengths(SamplingCommand& command, string_view value, const ControlledRun& run) {
    TRY(begin_with_bursts(command, run));
    TRY_ASSIGN(const auto lengths, parse_burst_lengths(value));
    for (const EventsOfKind& length : lengths)
        TRY(set_length(command.bursts, length, run.collected));
    return {};
}

// Checks that these kinds can be switched separately from the other kinds of the run.
Result<void> check_profiles(const ProfileKinds& kinds, const ControlledRun& run) {
    const ProfileKinds& all = run.collected;
    const auto refused = [](std::string why) { return Error{ErrorCode::usage, 0, std::move(why)}; };
    if (!all.has_all(kinds))
        return refused(fmt::format("only kinds that the run began with can be chosen: {}",
                                   profile_kinds_text(all)));
    if (all.has_all(reference_kinds) && kinds.has_any_of(reference_kinds) &&
        !kinds.has_all(reference_kinds))
        return refused("hazard and stream can only be switched together");
    constexpr auto flow = ProfileKinds::of<EdgeList, PathList, CallList>();
    const bool same_flow = (all & flow) == (kinds & flow);
    if (!run.bursts && kinds.has_any_of_samples() && !same_flow)
        return refused(
            fmt::format("without --every, edges, paths and calls can only be switched together; "
                        "this run collects {}",
                        profile_kinds_text(all)));
    return {};
}

Result<void> change_profiles(SamplingCommand& command, string_view value,
                             const ControlledRun& run) {
    command.profiles = run.collected;
    if (value == "all") return {};
    TRY_ASSIGN(command.profiles, parse_profile_kinds(value));
    return check_profiles(command.profiles, run);
}

Result<void> change_budget(SamplingCommand& command, string_view value, const ControlledRun&) {
    TRY_ASSIGN(command.number, parse_percent(value));
    return {};
}

Result<void> change_load(SamplingCommand& command, string_view value, const ControlledRun&) {
    TRY_ASSIGN(command.number, parse_load(value));
    return {};
}

Result<void> set_dump(SamplingCommand& command, string_view value, const ControlledRun&) {
    const bool is_printable =
        std::ranges::none_of(value, [](unsigned char c) { return c < ' ' || c == 0x7f; });
    if (!is_printable || value == "-")
        return Error{ErrorCode::usage, 0, "dump takes the name of a file"};
    command.dump.file = value;
    return {};
}

Result<void> set_new_dump(SamplingCommand& command, string_view value, const ControlledRun& run) {
    if (run.has_phases)
        return Error{
            ErrorCode::usage, 0,
            "dump-new cannot be used with --dump-every; 'dump FILE' writes all that was seen "
            "until now"};
    TRY(set_dump(command, value, run));
    command.dump.part = DumpPart::phase;
    return {};
}

struct CommandRow {
    string_view word;
    string_view value;  // the value's name for the user; empty: no value
    std::optional<Kind> kind;
    SetValue set = nullptr;  // for commands with a value
};
constexpr CommandRow command_rows[] = {
    {"enable", "", Kind::enable},
    {"disable", "", Kind::disable},
    {"stop", "", Kind::stop},
    {"ping", "", std::nullopt},
    {"every", "N or KIND:N", Kind::bursts, change_every},
    {"burst-length", "KIND:N", Kind::bursts, change_lengths},
    {"profiles", "LIST", Kind::profiles, change_profiles},
    {"budget", "PERCENT", Kind::budget, change_budget},
    {"load", "X", Kind::load, change_load},
    {"dump", "FILE", Kind::dump, set_dump},
    {"dump-new", "FILE", Kind::dump, set_new_dump},
};

Error no_such_command(string_view word) {
    std::array<string_view, std::size(command_rows)> words;
    std::ranges::transform(command_rows, words.begin(), &CommandRow::word);
    std::vector<std::string> accepted;
    for (const CommandRow& row : command_rows)
        accepted.push_back(row.value.empty() ? std::string(row.word)
                                             : fmt::format("{} {}", row.word, row.value));
    return {
        ErrorCode::usage, 0,
        fmt::format("{}the commands are {}", did_you_mean(word, words), fmt::join(accepted, ", "))};
}

Error wrong_value(const CommandRow& row) {
    return {ErrorCode::usage, 0,
            row.set == nullptr ? fmt::format("{} takes no value", row.word)
                               : fmt::format("{} takes {}", row.word, row.value)};
}

}  // namespace

void CommandLines::add(string_view bytes, const OnLine& on_line) {
    while (!bytes.empty()) {
        const auto end = std::min(bytes.find('\n'), bytes.size());
        too_long_ = too_long_ || line_.size() + end > longest;
        if (!too_long_) line_ += bytes.substr(0, end);
        if (end == bytes.size()) return;
        on_line(too_long_ ? std::nullopt : std::optional(string_view(line_)));
        clear();
        bytes.remove_prefix(end + 1);
    }
}

void CommandLines::clear() {
    line_.clear();
    too_long_ = false;
}

bool is_blank(string_view line) {
    return trimmed(line).empty();
}

Result<std::optional<SamplingCommand>> parse_command(string_view line, const ControlledRun& run) {
    const string_view text = trimmed(line);
    const string_view word = text.substr(0, text.find_first_of(spaces));
    const string_view value = trimmed(text.substr(word.size()));
    const auto row = std::ranges::find(command_rows, word, &CommandRow::word);
    if (row == std::end(command_rows)) return no_such_command(word);
    if (value.empty() != (row->set == nullptr)) return wrong_value(*row);
    if (!row->kind) return std::optional<SamplingCommand>();
    SamplingCommand command{.kind = *row->kind, .bursts = {}, .text = std::string(word)};
    if (!row->set) return std::optional(std::move(command));
    TRY(row->set(command, value, run));
    command.text += ' ';
    command.text += value;
    return std::optional(std::move(command));
}

}  // namespace shadowprof
