// What is hot in a profile: the numbers behind the summary, without their layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/lists/stack_weight.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// What the shares of hot functions are shares of.
enum class FunctionWeight { instructions, time, blocks };

struct HotFunction {
    CodeLocation at;              // somewhere in it
    std::uint64_t weight = 0;     // time is in nanoseconds
    double share = 0;             // of all, in [0, 1]
    std::optional<double> error;  // half the width of the share's 95% confidence interval
    // The same by time, where the weight is instructions, and the other way round. Nothing where
    // no times are known.
    std::optional<double> other_share;
};
struct HotFunctions {
    FunctionWeight unit = FunctionWeight::instructions;
    std::vector<HotFunction> list;  // hottest first
    // The share of the time that went to functions of which no sample has an instruction. Only the
    // kernel's clock knows of it.
    double unsampled_time_share = 0;
};
// By instructions or time of their own where stacks were collected, else by basic blocks entered.
// Time is that of the kernel's clock where there was one, else that of samples.
// Code of one module whose functions are unknown counts as one function.
HotFunctions hot_functions(const Profile& profile, SymbolSource& symbols,
                           StackWeight weight = StackWeight::instructions);

struct HotPath {
    const Path* path = nullptr;   // in the profile
    double share = 0;             // of the instructions of all paths
    std::optional<double> error;  // of the share
};
std::vector<HotPath> hot_paths(const Profile& profile, std::size_t most);

// All that a branch instruction did.
struct HotBranch {
    CodeLocation from;
    EdgeKind kind = EdgeKind::jump;  // of its most frequent edge; taken for conditional branches
    std::uint64_t count = 0;
    std::optional<double> error;  // of the count, at most: what happens together is not known
    std::uint64_t taken = 0;      // of a conditional branch
    CodeLocation to;  // the most frequent target; of a conditional branch, where it is taken
    std::uint64_t to_count = 0;
    std::size_t targets = 0;

    bool conditional() const { return kind == EdgeKind::taken; }
};
std::vector<HotBranch> hot_branches(const Profile& profile, std::size_t most);

// Often executed instructions that mostly produce one value, though nothing in the instruction
// itself makes them: loads of constants and the like are left out. Most executions with that value
// first.
std::vector<const ValueProfile*> invariant_values(const Profile& profile, SymbolSource& symbols,
                                                  std::size_t most);

// A site whose values depend on who called.
struct CallerDependence {
    const ValueProfile* value = nullptr;
    double invariance = 0;  // mean of those by caller, by their executions
    double gain = 0;  // executions with their caller's most frequent value, but not the site's
};
// Those that win most by knowing the caller, at least a fifth of their executions.
std::vector<CallerDependence> caller_dependent_values(const Profile& profile, std::size_t most);

// Those whose addresses a prefetcher does not foresee come first.
std::vector<const AddressPattern*> unforeseeable_first(const std::vector<AddressPattern>& list);

template <typename List>
double sum_of_counts(const List& list) {
    double sum = 0;
    for (const auto& each : list) sum += static_cast<double>(each.count);
    return sum;
}

// Pointers to all that are in a list, in its order.
template <typename T>
std::vector<const T*> all_of(const std::vector<T>& list) {
    std::vector<const T*> pointers;
    pointers.reserve(list.size());
    for (const T& each : list) pointers.push_back(&each);
    return pointers;
}

// Whether an instruction, as SymbolSource gives its text, can only ever produce one value.
bool is_constant_by_design(std::string_view instruction_text);

}  // namespace shadowprof
