#include "profile/merge/size_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/kinds/stacks/stack_folder.h"
#include "profile/merge/join.h"
#include "profile/profile_size.h"

namespace shadowprof {
namespace {

constexpr std::string_view stacks_note = "folded call stacks: ", paths_note = "left out paths: ";

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
    add_linearly(sum.time_error_ns, stack.time_error_ns);
}

std::uint64_t bytes_of(const std::vector<Stack>& stacks) {
    std::uint64_t bytes = 0;
    for (const Stack& stack : stacks)
        bytes += stack_file_bytes(stack.frames.empty() ? 0 : stack.frames.size() - 1);
    return bytes;
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

struct LeftOutPaths {
    std::uint64_t number = 0, executions = 0;
};

LeftOutPaths leave_out_paths(std::vector<Path>& paths, std::uint64_t max_bytes) {
    std::uint64_t bytes = 0;
    const auto first = std::ranges::find_if(paths, [&](const Path& path) {
        return (bytes += path_file_bytes(path.blocks.size())) > max_bytes;
    });
    LeftOutPaths left_out{.number = static_cast<std::uint64_t>(paths.end() - first)};
    for (auto path = first; path != paths.end(); ++path) left_out.executions += path->count;
    paths.erase(first, paths.end());
    return left_out;
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

}  // namespace

void keep_size(Profile& profile, std::uint64_t max_bytes) {
    auto& counters = profile.sampling.counters;
    const auto stacks = counters["folded_stacks"] +=
        fold_stacks(profile.stacks, max_stack_bytes(max_bytes));
    const auto paths = leave_out_paths(profile.paths, max_path_bytes(max_bytes));
    counters["paths_left_out"] += paths.number;
    counters["paths_given_up"] += paths.executions;

    std::uint64_t folded = 0, instructions = 0, executions = counters["paths_given_up"];
    for (const Stack& stack : profile.stacks) {
        folded += stack.folded;
        instructions += stack.instructions;
    }
    for (const Path& path : profile.paths) executions += path.count;
    // Profiles of older versions have this counter alone.
    auto& all_folded = counters["folded_stack_instructions"];
    all_folded = std::max(all_folded, folded);
    set_note(
        profile.notes, stacks_note, stacks,
        fmt::format("{:.2f}% of the instructions lack their innermost callers, as {} stacks were "
                    "folded; --max-size keeps more",
                    percent(folded, instructions), stacks));
    set_note(
        profile.notes, paths_note, counters["paths_left_out"],
        fmt::format("the {} coldest, {:.2f}% of the executions; --max-size keeps more",
                    counters["paths_left_out"], percent(counters["paths_given_up"], executions)));
}

}  // namespace shadowprof
