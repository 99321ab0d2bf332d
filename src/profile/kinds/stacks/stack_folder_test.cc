#include "profile/kinds/stacks/stack_folder.h"

#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "profile/statistics/random.h"

namespace shadowprof::stack_folder_test {
namespace {

CodeLocation at(std::uint64_t address) {
    return {0, address};
}

TEST_CASE("stacks that fit are left as they are") {
    StackFolder folder;
    const auto caller = folder.called(0, at(1));
    const auto stack = folder.add(caller, at(10), 5);
    folder.fold(folder.bytes());
    CHECK(folder.kept(stack) == stack);
    CHECK(folder.calls_left(stack) == 1);
    CHECK_FALSE(folder.is_folded(stack));
}

TEST_CASE("the coldest stack is folded first, and keeps its function") {
    StackFolder folder;
    const auto hot = folder.called(0, at(1)), cold = folder.called(0, at(2));
    const auto hot_stack = folder.add(hot, at(10), 100);
    const auto cold_stack = folder.add(cold, at(10), 5);
    const auto here = folder.add(0, at(10), 1);
    folder.fold(folder.bytes() - 1);
    CHECK(folder.kept(cold_stack) == here);
    CHECK(folder.calls_left(cold_stack) == 0);
    CHECK(folder.is_folded(cold_stack));
    CHECK(folder.kept(hot_stack) == hot_stack);
    CHECK(folder.calls_left(hot_stack) == 1);
}

TEST_CASE("cold stacks that are hot together keep the callers that they have in common") {
    StackFolder folder;
    const auto outer = folder.called(0, at(1));
    std::vector<StackFolder::StackId> cold;
    for (std::uint64_t i = 0; i < 100; ++i)
        cold.push_back(folder.add(folder.called(outer, at(100 + i)), at(20), 1));
    const auto hot = folder.add(folder.called(0, at(2)), at(20), 50);
    folder.fold(2 * stack_file_bytes(1));
    CHECK_FALSE(folder.is_folded(hot));
    for (const auto stack : cold) {
        CHECK(folder.kept(stack) == folder.kept(cold[0]));
        CHECK(folder.calls_left(stack) == 1);
    }
}

TEST_CASE("without room, functions are left without callers") {
    StackFolder folder;
    StackFolder::Caller caller = 0;
    std::vector<StackFolder::StackId> stacks;
    for (std::uint64_t i = 0; i < 100; ++i) {
        caller = folder.called(caller, at(i % 2));
        stacks.push_back(folder.add(caller, at(10 + i % 2), i));
    }
    folder.fold(0);
    CHECK(folder.bytes() == 2 * stack_file_bytes(0));
    for (const auto stack : stacks) CHECK(folder.calls_left(stack) == 0);
    CHECK(folder.kept(stacks[0]) == folder.kept(stacks[98]));
    CHECK(folder.kept(stacks[0]) != folder.kept(stacks[99]));
}

TEST_CASE("random stacks fit, and each function keeps what it executed") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        StackFolder folder;
        std::vector<StackFolder::Caller> callers = {0};
        std::map<StackFolder::StackId, std::uint64_t> function_of;
        std::uint64_t random = seed;
        for (int i = 0; i < 2000; ++i) {
            random = mix64(random);
            callers.push_back(folder.called(callers[random % callers.size()], at(random >> 61)));
            const std::uint64_t function = random >> 32 & 3;
            function_of[folder.add(callers.back(), at(function), random >> 48 & 0xff)] = function;
        }
        const auto max_bytes = folder.bytes() / (1 + seed);
        folder.fold(max_bytes);
        CHECK(folder.bytes() <= max_bytes);
        std::map<StackFolder::StackId, std::size_t> calls_of;
        for (const auto& [stack, function] : function_of) {
            CHECK(function_of.at(folder.kept(stack)) == function);
            calls_of[folder.kept(stack)] = folder.calls_left(stack);
        }
        std::uint64_t bytes = 0;
        for (const auto& [stack, calls] : calls_of) bytes += stack_file_bytes(calls);
        CHECK(bytes == folder.bytes());
    }
}

}  // namespace
}  // namespace shadowprof::stack_folder_test
