#include "profile/merge/size_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text/numbered.h"
#include "profile/code/location_set.h"
#include "profile/kinds/stacks/stack_folder.h"
#include "profile/merge/join.h"
#include "profile/profile_size.h"

namespace shadowprof {
namespace {

constexpr std::string_view stacks_note = "folded call stacks: ";

// How a note names the records of a kind, whose list in the file is `name`.
std::string left_out_note(std::string_view name) {
    return fmt::format("left out {}: ", name == ValueList::name ? "values of operands" : name);
}

// Errors of counts that may vary together.
void add_linearly(std::optional<double>& sum, const std::optional<double>& error) {
    if (sum && error)
        *sum += *error;
    else
        sum.reset();
}

void add_folded(Stack& sum, const Stack& stack) {
    sum.instructions += stack.instructions;
    sum.samples += stack.samples;
    sum.time_ns += stack.time_ns;
    sum.folded += stack.folded;
    add_linearly(sum.error, stack.error);
}

std::uint64_t bytes_of(const Stack& stack) {
    return stack_file_bytes(stack.frames.empty() ? 0 : stack.frames.size() - 1);
}

std::uint64_t bytes_of(const Path& path) {
    return path_file_bytes(path.blocks.size());
}

std::uint64_t bytes_of(const TopValue& value) {
    const auto last = std::find_if(value.value.rbegin(), value.value.rend(),
                                   [](std::byte b) { return b != std::byte{0}; });
    return value_file_bytes(static_cast<std::size_t>(value.value.rend() - last));
}

template <typename Record>
std::uint64_t bytes_of(const std::vector<Record>& list);

std::uint64_t bytes_of(const CallerValues& values) {
    return caller_file_bytes(values.callers.size()) + bytes_of(values.top);
}

std::uint64_t bytes_of(const ValueProfile& values) {
    return values_file_bytes + bytes_of(values.top) + bytes_of(values.top_tnv) +
           bytes_of(values.by_caller);
}

template <typename Record>
std::uint64_t bytes_of(const std::vector<Record>& list) {
    std::uint64_t bytes = 0;
    for (const Record& record : list) bytes += bytes_of(record);
    return bytes;
}

// What the lists without a limit take, and all locations but those of values.
std::uint64_t bytes_of_others(const Profile& profile) {
    std::uint64_t records = 0;
    LocationSet locations;
    const auto note = [&](const CodeLocation& at) { locations.add(at); };
    LocationVisitor visitor(note);
    for_each_kind([&]<typename Kind>() {
        if constexpr (std::is_same_v<Kind, ValueList>) return;
        for (const auto& record : Kind::of(profile)) fields(visitor, record);
        if constexpr (!std::is_same_v<Kind, StackList> && !std::is_same_v<Kind, PathList>)
            records += Kind::of(profile).size();
    });
    return records * record_file_bytes + locations.size() * location_file_bytes;
}

std::uint64_t bytes_for_values(const Profile& profile, std::uint64_t max_bytes) {
    const auto taken =
        bytes_of(profile.stacks) + bytes_of(profile.paths) + bytes_of_others(profile);
    return std::max(max_bytes - std::min(max_bytes, taken), least_value_bytes(max_bytes));
}

// How many of the hottest records, which are the first, have at most `max_bytes`.
template <typename Record>
std::size_t number_within(const std::vector<Record>& list, std::uint64_t max_bytes) {
    std::uint64_t bytes = 0;
    const auto first = std::ranges::find_if(
        list, [&](const Record& record) { return (bytes += bytes_of(record)) > max_bytes; });
    return static_cast<std::size_t>(first - list.begin());
}

// How many instructions keep their values.
std::size_t number_of_values_within(const Profile& profile, std::uint64_t max_bytes) {
    if (profile.values.empty()) return 0;
    return number_within(profile.values, bytes_for_values(profile, max_bytes));
}

StackFolder::StackId add_to(StackFolder& folder, const Stack& stack) {
    StackFolder::Caller caller = 0;
    for (std::size_t i = 0; i + 1 < stack.frames.size(); ++i)
        caller = folder.called(caller, stack.frames[i]);
    return folder.add(caller, stack.frames.back(), stack.instructions);
}

void drop_inner_calls(Stack& stack, std::size_t calls_left) {
    const auto first = stack.frames.begin() + static_cast<std::ptrdiff_t>(calls_left);
    stack.frames.erase(first, stack.frames.end() - 1);
    stack.folded = stack.instructions;
}

// Returns the number of stacks that were folded.
std::uint64_t fold_stacks(std::vector<Stack>& stacks, std::uint64_t max_bytes) {
    if (bytes_of(stacks) <= max_bytes) return 0;
    std::erase_if(stacks, [](const Stack& stack) { return stack.frames.empty(); });
    StackFolder folder;
    std::vector<StackFolder::StackId> ids;
    for (const Stack& stack : stacks) ids.push_back(add_to(folder, stack));
    folder.fold(max_bytes);
    std::uint64_t number = 0;
    std::vector<Stack> kept;
    std::vector<std::optional<std::size_t>> kept_at(folder.size());
    for (std::size_t i = 0; i < stacks.size(); ++i) {
        if (folder.is_folded(ids[i])) {
            ++number;
            drop_inner_calls(stacks[i], folder.calls_left(ids[i]));
        }
        auto& at = kept_at[folder.kept(ids[i])];
        if (at) {
            add_folded(kept[*at], stacks[i]);
        } else {
            at = kept.size();
            kept.push_back(std::move(stacks[i]));
        }
    }
    join_and_sort(kept);
    stacks = std::move(kept);
    return number;
}

// Whether a list has a share of its own, so that its collector may have left out records, too.
template <typename Kind>
constexpr bool has_own_share = std::is_same_v<Kind, PathList> || std::is_same_v<Kind, ValueList>;

// The names of the counters of records that were left out, and of their executions.
template <typename Kind>
std::string number_counter() {
    return fmt::format("{}_{}", Kind::name, has_own_share<Kind> ? "left_out" : "cut");
}
template <typename Kind>
std::string executions_counter() {
    return fmt::format("{}_{}", Kind::name, has_own_share<Kind> ? "given_up" : "cut_executions");
}

template <typename Kind>
std::uint64_t executions_left_out(const Profile& profile) {
    const auto& counters = profile.sampling.counters;
    const auto found = counters.find(executions_counter<Kind>());
    return found == counters.end() ? 0 : found->second;
}

// Removes all records but the `kept` hottest and adds them to the counters.
template <typename Kind>
void leave_out_coldest(Profile& profile, std::size_t kept) {
    auto& list = Kind::of(profile);
    auto& counters = profile.sampling.counters;
    const auto first = list.begin() + static_cast<std::ptrdiff_t>(kept);
    counters[number_counter<Kind>()] += list.size() - kept;
    if constexpr (requires { first->count; }) {
        auto& executions = counters[executions_counter<Kind>()];
        for (auto record = first; record != list.end(); ++record) executions += record->count;
    }
    list.erase(first, list.end());
}

double percent(std::uint64_t part, std::uint64_t of) {
    return of == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(of);
}

// Sums say more than the notes of merged profiles, which are replaced.
void set_note(std::vector<std::string>& notes, std::string_view begin, std::uint64_t number,
              std::string text) {
    std::erase_if(notes, [&](const std::string& note) { return note.starts_with(begin); });
    if (number != 0) notes.push_back(std::string(begin) + std::move(text));
}

void note_folded(Profile& profile) {
    auto& counters = profile.sampling.counters;
    std::uint64_t folded = 0, instructions = 0;
    for (const Stack& stack : profile.stacks) {
        folded += stack.folded;
        instructions += stack.instructions;
    }
    // Profiles of older versions have this counter alone.
    auto& all_folded = counters["folded_stack_instructions"];
    all_folded = std::max(all_folded, folded);
    const auto stacks = counters["folded_stacks"];
    set_note(profile.notes, stacks_note, stacks,
             fmt::format("{:.2f}% of the instructions lack their innermost callers, as {} {} "
                         "folded; --max-size keeps more",
                         percent(folded, instructions), numbered(stacks, "stack"),
                         word_for(stacks, "was", "were")));
}

template <typename Kind>
void note_left_out(Profile& profile) {
    auto& counters = profile.sampling.counters;
    const auto number = counters.find(number_counter<Kind>());
    if (number == counters.end()) return;
    std::string text = fmt::format("the {} coldest", number->second);
    if constexpr (requires { Kind::of(profile).front().count; }) {
        const std::uint64_t left_out = executions_left_out<Kind>(profile);
        std::uint64_t executions = left_out;
        for (const auto& record : Kind::of(profile)) executions += record.count;
        text += fmt::format(", {:.2f}% of the executions", percent(left_out, executions));
    }
    set_note(profile.notes, left_out_note(Kind::name), number->second,
             text + "; --max-size keeps more");
}

}  // namespace

void keep_size(Profile& profile, std::uint64_t max_bytes) {
    if (profile.timeline) keep_timeline_size(*profile.timeline, max_timeline_bytes(max_bytes));
    profile.sampling.counters["folded_stacks"] +=
        fold_stacks(profile.stacks, max_stack_bytes(max_bytes));
    leave_out_coldest<PathList>(profile, number_within(profile.paths, max_path_bytes(max_bytes)));
    leave_out_coldest<ValueList>(profile, number_of_values_within(profile, max_bytes));

    note_folded(profile);
    for_each_kind([&]<typename Kind>() { note_left_out<Kind>(profile); });
}

std::vector<CodeLocation> functions_of(const std::vector<Stack>& stacks) {
    std::vector<CodeLocation> functions;
    for (const Stack& stack : stacks)
        if (!stack.frames.empty()) functions.push_back(stack.frames.back());
    std::ranges::sort(functions);
    functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
    return functions;
}

std::uint64_t executions_of_cut_edges(const Profile& profile) {
    return executions_left_out<EdgeList>(profile);
}
std::uint64_t executions_of_cut_calls(const Profile& profile) {
    return executions_left_out<CallList>(profile);
}

void keep_hottest(Profile& profile, double share) {
    const auto share_of = [&](std::size_t size) {
        constexpr double rounding = 1e-6;
        return static_cast<std::size_t>(share * static_cast<double>(size) + rounding);
    };
    std::uint64_t stack_bytes = functions_of(profile.stacks).size() * stack_file_bytes(0);
    for (std::size_t i = 0; i < share_of(profile.stacks.size()); ++i)
        stack_bytes += bytes_of(profile.stacks[i]);
    profile.sampling.counters["folded_stacks"] += fold_stacks(profile.stacks, stack_bytes);
    note_folded(profile);
    for_each_kind([&]<typename Kind>() {
        if (std::is_same_v<Kind, StackList> || is_never_cut<Kind>(Kind::of(profile))) return;
        leave_out_coldest<Kind>(profile, share_of(Kind::of(profile).size()));
        note_left_out<Kind>(profile);
    });
}

}  // namespace shadowprof
