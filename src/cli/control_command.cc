#include "cli/control_command.h"

#include <algorithm>

#include "cli/burst_values.h"

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

using Change = Result<void> (*)(WindowOptions&, string_view value);

Result<void> change_every(WindowOptions& bursts, string_view value) {
    TRY_ASSIGN(const EveryValue every, parse_every(value));
    bursts.plan.every = every.every;
    bursts.plan.events = every.events;
    return {};
}

Result<void> change_lengths(WindowOptions& bursts, string_view value) {
    TRY_ASSIGN(const auto lengths, parse_burst_lengths(value));
    for (const BurstLength& length : lengths) TRY(set_length(bursts, length));
    return {};
}

struct CommandRow {
    string_view word;
    std::optional<Kind> kind;
    Change change = nullptr;  // of a command with a value
};
constexpr CommandRow rows[] = {
    {"enable", Kind::enable},
    {"disable", Kind::disable},
    {"stop", Kind::stop},
    {"ping", std::nullopt},
    {"every", Kind::bursts, change_every},
    {"burst-length", Kind::bursts, change_lengths},
};

Error not_accepted() {
    return {ErrorCode::usage, 0,
            "accepted are enable, disable, stop, ping, every N and burst-length KIND:N"};
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

Result<std::optional<SamplingCommand>> parse_command(string_view line,
                                                     const std::optional<WindowOptions>& bursts) {
    const string_view text = trimmed(line);
    const string_view word = text.substr(0, text.find_first_of(spaces));
    const string_view value = trimmed(text.substr(word.size()));
    const auto* row = std::find_if(std::begin(rows), std::end(rows),
                                   [&](const CommandRow& each) { return each.word == word; });
    if (row == std::end(rows) || value.empty() != (row->change == nullptr)) return not_accepted();
    if (!row->kind) return std::optional<SamplingCommand>();
    SamplingCommand command{*row->kind, {}, std::string(word)};
    if (!row->change) return std::optional(std::move(command));
    if (!bursts)
        return Error{ErrorCode::usage, 0, "the run began without --every: it has no bursts"};
    command.bursts = *bursts;
    TRY(row->change(command.bursts, value));
    command.text += ' ';
    command.text += value;
    return std::optional(std::move(command));
}

}  // namespace shadowprof
