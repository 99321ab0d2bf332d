#include "profile/merge/size_limit.h"

#include <doctest/doctest.h>

#include <map>

#include "profile/kinds/stacks/stack_tree.h"
#include "profile/merge/merge.h"
#include "profile/profile_size.h"
#include "profile/statistics/random.h"

namespace shadowprof::size_limit_test {
namespace {

// Values of an instruction that was executed `count` times, also by caller.
ValueProfile values_of(std::uint64_t address, std::uint64_t count) {
    std::vector<TopValue> top;
    for (const std::byte byte : {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}})
        top.push_back({.value = std::vector(8, byte), .count = count / 8});
    return {.at = {0, address},
            .operand = "rax",
            .count = count,
            .top = top,
            .by_caller = {{.callers = {{0, 8}}, .count = count, .top = top}}};
}

// Deep stacks, long paths and many values, far more than fit in a megabyte.
Profile large_profile(std::uint64_t seed) {
    Profile p;
    p.modules = {{"/bin/large", "00", 1}};
    std::uint64_t random = seed;
    for (std::uint64_t i = 0; i < 2000; ++i) {
        random = mix64(random);
        Stack stack{.frames = std::vector(100 + random % 100, CodeLocation{0, 8}),
                    .instructions = 1 + random % 1000,
                    .samples = 1,
                    .error = 2.5};
        stack.frames[random % 100].address = random % 7;
        stack.frames.back().address = 100 + i % 3;
        p.stacks.push_back(stack);
        Path path{.blocks = std::vector(100, CodeLocation{0, random % 16}),
                  .instructions = 7,
                  .count = 10'000 - i};
        path.blocks.front().address = i;
        p.paths.push_back(path);
        p.values.push_back(values_of(i, 10'000 - i));
    }
    Profile sum;
    merge_into(sum, p);
    return sum;
}

std::map<CodeLocation, std::uint64_t> by_function(const Profile& p) {
    std::map<CodeLocation, std::uint64_t> sums;
    for (const Stack& stack : p.stacks) sums[stack.frames.back()] += stack.instructions;
    return sums;
}

std::uint64_t stack_bytes(const Profile& p) {
    std::uint64_t bytes = 0;
    for (const Stack& stack : p.stacks) bytes += stack_file_bytes(stack.frames.size() - 1);
    return bytes;
}

// With those that the counter has.
template <typename Record>
std::uint64_t executions(const Profile& p, const std::vector<Record>& list,
                         const std::string& counter) {
    std::uint64_t sum = p.sampling.counters.contains(counter) ? p.sampling.counters.at(counter) : 0;
    for (const Record& record : list) sum += record.count;
    return sum;
}
std::uint64_t path_executions(const Profile& p) {
    return executions(p, p.paths, "paths_given_up");
}
std::uint64_t value_executions(const Profile& p) {
    return executions(p, p.values, "values_given_up");
}

constexpr std::uint64_t limit = 1'000'000;

TEST_CASE("a profile that fits stays as it is, without notes") {
    Profile p = large_profile(1);
    const auto stacks = p.stacks;
    const auto paths = p.paths;
    const auto values = p.values.size();
    keep_size(p, 100 * limit);
    CHECK(p.stacks == stacks);
    CHECK(p.paths == paths);
    CHECK(p.values.size() == values);
    CHECK(p.notes.empty());
    CHECK(p.sampling.counters.at("folded_stacks") == 0);
}

TEST_CASE("stacks and paths fit, functions keep their instructions, and counters say the rest") {
    Profile p = large_profile(1);
    const auto functions = by_function(p);
    const auto all_executions = path_executions(p);
    keep_size(p, limit);
    CHECK(stack_bytes(p) <= max_stack_bytes(limit));
    CHECK(by_function(p) == functions);
    CHECK(path_executions(p) == all_executions);
    CHECK(p.sampling.counters.at("paths_left_out") == 2000 - p.paths.size());
    std::uint64_t folded = 0;
    for (const Stack& stack : p.stacks) {
        CHECK(stack.folded <= stack.instructions);
        folded += stack.folded;
    }
    CHECK(folded > 0);
    CHECK(p.sampling.counters.at("folded_stack_instructions") == folded);
    CHECK(p.notes.size() == 3);
}

TEST_CASE("the values of the most executed instructions are kept, and counters say the rest") {
    Profile p = large_profile(1);
    const auto all = value_executions(p);
    keep_size(p, limit);
    REQUIRE(!p.values.empty());
    CHECK(p.values.size() < 1000);
    CHECK(p.values.front().count == 10'000);
    CHECK(p.values.back().count == 10'001 - p.values.size());
    CHECK(p.values.front().by_caller.size() == 1);
    CHECK(p.sampling.counters.at("values_left_out") == 2000 - p.values.size());
    CHECK(value_executions(p) == all);
}

TEST_CASE("values have what the other lists leave") {
    Profile full = large_profile(1), alone = large_profile(1);
    alone.stacks.clear();
    alone.paths.clear();
    keep_size(full, limit);
    keep_size(alone, limit);
    CHECK(alone.values.size() > 2 * full.values.size());
}

TEST_CASE("a second time changes nothing") {
    Profile p = large_profile(3);
    keep_size(p, limit);
    const Profile once = p;
    keep_size(p, limit);
    CHECK(p.stacks == once.stacks);
    CHECK(p.paths == once.paths);
    CHECK(p.values.size() == once.values.size());
    CHECK(p.sampling.counters == once.sampling.counters);
    CHECK(p.notes == once.notes);
}

TEST_CASE("the sum of profiles that were folded has one note with the figures of both") {
    Profile sum = large_profile(1), more = large_profile(2);
    auto functions = by_function(sum);
    for (const auto& [function, instructions] : by_function(more))
        functions[function] += instructions;
    const auto all_executions = path_executions(sum) + path_executions(more);
    const auto all_values = value_executions(sum) + value_executions(more);
    keep_size(sum, limit);
    keep_size(more, limit);
    const auto folded = sum.sampling.counters.at("folded_stack_instructions") +
                        more.sampling.counters.at("folded_stack_instructions");
    merge_into(sum, more);
    keep_size(sum, limit);
    CHECK(stack_bytes(sum) <= max_stack_bytes(limit));
    CHECK(by_function(sum) == functions);
    CHECK(path_executions(sum) == all_executions);
    CHECK(value_executions(sum) == all_values);
    CHECK(sum.sampling.counters.at("folded_stack_instructions") >= folded);
    CHECK(sum.notes.size() == 3);
}

}  // namespace
}  // namespace shadowprof::size_limit_test
