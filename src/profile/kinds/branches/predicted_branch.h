// Branches: how often each is executed and taken, and how often a model of a predictor is wrong
// about it (profile/kinds/branches/branch_predictor.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/code_location.h"
#include "profile/kinds/difference.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"

namespace shadowprof {

// Branches whose direction or target must be predicted. Direct jumps and calls are none of them.
enum class BranchKind : std::uint8_t { conditional, indirect_jump, indirect_call, ret };
inline constexpr std::size_t branch_kinds = 4;
inline constexpr std::array<std::string_view, branch_kinds> branch_kind_names = {
    "conditional", "indirect-jump", "indirect-call", "return"};

struct PredictedBranch {
    CodeLocation at;
    BranchKind kind = BranchKind::conditional;
    std::uint64_t executions = 0;
    std::uint64_t taken = 0;           // all executions, unless it is conditional
    std::uint64_t mispredictions = 0;  // by the model

    friend bool operator==(const PredictedBranch&, const PredictedBranch&) = default;
};

inline auto identity(const PredictedBranch& b) {
    return std::tie(b.at, b.kind);
}
inline std::uint64_t heat(const PredictedBranch& b) {
    return b.mispredictions;
}
inline bool is_empty(const PredictedBranch& b) {
    return b.executions == 0;
}
inline void add(PredictedBranch& sum, const PredictedBranch& b) {
    sum.executions += b.executions;
    sum.taken += b.taken;
    sum.mispredictions += b.mispredictions;
}
inline void subtract(PredictedBranch& branch, const PredictedBranch& earlier) {
    subtract(branch.executions, earlier.executions);
    subtract(branch.taken, earlier.taken);
    subtract(branch.mispredictions, earlier.mispredictions);
}

void fields(auto& visitor, Like<PredictedBranch> auto& b) {
    visitor.location("at", b.at);
    visitor.choice("kind", b.kind, branch_kind_names);
    visitor.count("executions", b.executions);
    visitor.count("taken", b.taken);
    visitor.count("mispredictions", b.mispredictions);
}

// A table of a predictor that is looked up by an address and the last outcomes.
struct PredictorTable {
    std::uint64_t history_bits = 0;
    std::uint64_t entries = 0;
    std::uint64_t tag_bits = 0;  // 0: the table has no tags

    friend bool operator==(const PredictorTable&, const PredictorTable&) = default;
};

void fields(auto& visitor, Like<PredictorTable> auto& t) {
    visitor.count("history_bits", t.history_bits);
    visitor.count("entries", t.entries);
    visitor.count("tag_bits", t.tag_bits);
}

// The parameters of the model.
struct BranchModel {
    std::vector<PredictorTable> conditional;  // the shortest history first
    std::vector<PredictorTable> indirect;
    std::uint64_t return_stack_entries = 0;

    friend bool operator==(const BranchModel&, const BranchModel&) = default;
};

void fields(auto& visitor, Like<BranchModel> auto& m) {
    const auto table = [](auto& inner, auto& t) { fields(inner, t); };
    visitor.list("conditional", m.conditional, table);
    visitor.list("indirect", m.indirect, table);
    visitor.count("return_stack_entries", m.return_stack_entries);
}

struct BranchList {
    using Record = PredictedBranch;
    static constexpr std::string_view name = "branches";
    static constexpr KindOption option{.word = "branch"};
    static constexpr TableNames table{
        .title = "Branches, by how often the modelled predictor is wrong", .plural = "branches"};
    static auto& of(auto& profile) { return profile.branches; }
    static constexpr std::string_view host_name = "branch_model";
    static auto& host_of(auto& profile) { return profile.branch_model; }
    static constexpr std::string_view unequal_hosts =
        "branches of different models of a predictor were added up";
};

}  // namespace shadowprof
