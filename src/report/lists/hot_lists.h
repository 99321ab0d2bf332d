// The hottest items of a profile: the numbers behind the summary, without layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/lists/stack_weight.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// The unit of the shares of hot functions.
enum class FunctionWeight { instructions, time, blocks };

struct HotFunction {
    CodeLocation at;              // a place in it
    std::uint64_t weight = 0;     // time is in nanoseconds
    double share = 0;             // share of all functions' weight, in [0, 1]
    std::optional<double> error;  // half the width of the share's 95% confidence interval
    // The share by time if the weight is instructions, and by instructions if it is time. Nothing
    // if no times are known.
    std::optional<double> other_share;
};
struct HotFunctions {
    FunctionWeight unit = FunctionWeight::instructions;
    std::vector<HotFunction> list;  // hottest first
    // The share of the time in functions of the program of which no sample has an instruction.
    double unsampled_time_share = 0;
};
// Weighs functions by their own instructions or time if stacks were collected, else by basic blocks
// entered. System calls are functions, too. Code of one module in unknown functions counts as one
// function.
HotFunctions hot_functions(const Profile& profile, SymbolSource& symbols,
                           StackWeight weight = StackWeight::instructions);

struct HotPath {
    const Path* path = nullptr;   // points into the profile
    double share = 0;             // share of the instructions of all paths
    std::optional<double> error;  // error of the share
};
std::vector<HotPath> hot_paths(const Profile& profile, std::size_t most);

// The edges of one branch instruction.
struct HotBranch {
    CodeLocation from;
    EdgeKind kind = EdgeKind::jump;  // kind of its most frequent edge; taken for conditional
                                     // branches
    std::uint64_t count = 0;
    std::optional<double> error;  // error of the count, an upper bound as correlations are unknown
    std::uint64_t taken = 0;      // for a conditional branch
    CodeLocation to;  // the most frequent target; for a conditional branch, where it is taken
    std::uint64_t to_count = 0;
    std::size_t targets = 0;

    bool conditional() const { return kind == EdgeKind::taken; }
};
std::vector<HotBranch> hot_branches(const Profile& profile, std::size_t most);

// Returns often executed instructions that mostly produce one value, those with the most such
// executions first. Instructions that can only produce one value, such as loads of constants, are
// left out.
std::vector<const ValueProfile*> invariant_values(const Profile& profile, SymbolSource& symbols,
                                                  std::size_t most);

// A site whose values depend on the caller.
struct CallerDependence {
    const ValueProfile* value = nullptr;
    double invariance = 0;  // mean over callers, weighted by executions
    double gain = 0;  // executions with their caller's most frequent value that is not the site's
};
// Returns the sites that gain most by knowing the caller, in at least a fifth of their executions.
std::vector<CallerDependence> caller_dependent_values(const Profile& profile, std::size_t most);

// Sorts patterns so that those a prefetcher cannot predict come first.
std::vector<const AddressPattern*> unforeseeable_first(const std::vector<AddressPattern>& list);

template <typename List>
double sum_of_counts(const List& list) {
    double sum = 0;
    for (const auto& each : list) sum += static_cast<double>(each.count);
    return sum;
}

// Returns pointers to all elements, in their order.
template <typename T>
std::vector<const T*> all_of(const std::vector<T>& list) {
    std::vector<const T*> pointers;
    pointers.reserve(list.size());
    for (const T& each : list) pointers.push_back(&each);
    return pointers;
}

// Whether an instruction, given by its text from SymbolSource, can only produce one value.
bool is_constant_by_design(std::string_view instruction_text);

}  // namespace shadowprof
