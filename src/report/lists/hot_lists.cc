#include "report/lists/hot_lists.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "profile/code/kernel_calls.h"
#include "report/lists/function_errors.h"

namespace shadowprof {
namespace {

class FunctionWeights {
  public:
    FunctionWeights(SymbolSource& symbols, const std::vector<Module>& modules)
        : symbols_(symbols), modules_(modules) {}

    void add(CodeLocation at, std::uint64_t weight, std::uint64_t other = 0) {
        constexpr std::uint64_t no_function = UINT64_MAX;
        auto start = symbols_.symbol(at).function_start.value_or(no_function);
        HotFunction& function = functions_[{at.module, start}];
        function.at = at;
        function.weight += weight;
        others_[{at.module, start}] += other;
        total_ += weight;
        other_total_ += other;
    }
    std::vector<HotFunction> take(const FunctionErrors::ByStart& errors) {
        std::vector<HotFunction> list;
        for (auto& [key, function] : functions_) {
            if (function.weight == 0) continue;
            function.share = share(function.weight, total_);
            if (other_total_ != 0) function.other_share = share(others_[key], other_total_);
            if (const auto error = errors.find(key); error != errors.end())
                function.error = error->second / static_cast<double>(total_);
            list.push_back(function);
        }
        std::stable_sort(list.begin(), list.end(), [](const HotFunction& a, const HotFunction& b) {
            return a.weight > b.weight;
        });
        return list;
    }

    // The share of the weight, or of the other amount, in functions of the program that have
    // nothing of the respective other one.
    double share_of_weight_alone() const {
        std::uint64_t alone = 0;
        for (const auto& [key, function] : functions_)
            if (others_.at(key) == 0 && !is_in_kernel(key)) alone += function.weight;
        return share(alone, std::max<std::uint64_t>(total_, 1));
    }
    double share_of_other_alone() const {
        std::uint64_t alone = 0;
        for (const auto& [key, function] : functions_)
            if (function.weight == 0 && !is_in_kernel(key)) alone += others_.at(key);
        return share(alone, std::max<std::uint64_t>(other_total_, 1));
    }

  private:
    static double share(std::uint64_t part, std::uint64_t all) {
        return static_cast<double>(part) / static_cast<double>(all);
    }

    bool is_in_kernel(CodeLocation function) const {
        return function.module < modules_.size() && modules_[function.module].path == kernel_module;
    }

    SymbolSource& symbols_;
    const std::vector<Module>& modules_;
    std::map<CodeLocation, HotFunction> functions_;
    std::map<CodeLocation, std::uint64_t> others_;
    std::uint64_t total_ = 0, other_total_ = 0;
};

// An upper bound for the error of a sum.
void add_up(std::optional<double>& sum, const std::optional<double>& error, bool is_first) {
    if (is_first)
        sum = error;
    else if (sum && error)
        *sum += *error;
    else
        sum.reset();
}

void add_edge(HotBranch& branch, const Edge& edge) {
    branch.from = edge.from;
    branch.count += edge.count;
    add_up(branch.error, edge.error, branch.targets == 0);
    ++branch.targets;
    bool conditional = edge.kind == EdgeKind::taken || edge.kind == EdgeKind::fall_through;
    if (edge.kind == EdgeKind::taken) branch.taken += edge.count;
    // The fall-through of a conditional branch need not be shown.
    bool shown = edge.kind != EdgeKind::fall_through && edge.count >= branch.to_count;
    if (shown) {
        branch.to = edge.to;
        branch.to_count = edge.count;
    }
    if (conditional)
        branch.kind = EdgeKind::taken;
    else if (shown)
        branch.kind = edge.kind;
}

std::string_view operand(std::string_view text, std::size_t index) {
    std::size_t at = text.find(' ');
    for (std::size_t i = 0; i < index && at != std::string_view::npos; ++i)
        at = text.find(", ", at + 1) == std::string_view::npos ? std::string_view::npos
                                                               : text.find(", ", at + 1) + 1;
    if (at == std::string_view::npos) return {};
    std::string_view rest = text.substr(at + 1);
    return rest.substr(0, rest.find(", "));
}

template <typename T, typename Hotter>
void keep_hottest(std::vector<T>& list, std::size_t most, Hotter hotter) {
    auto middle = list.begin() + static_cast<std::ptrdiff_t>(std::min(most, list.size()));
    std::partial_sort(list.begin(), middle, list.end(), hotter);
    list.erase(middle, list.end());
}

double weight_of_top(const ValueProfile& value) {
    return share_of(value.invariance) * static_cast<double>(value.count);
}

}  // namespace

HotFunctions hot_functions(const Profile& profile, SymbolSource& symbols, StackWeight weight) {
    FunctionWeights weights(symbols, profile.modules);
    const bool by_time = weight == StackWeight::time;
    if (!profile.stacks.empty() || (by_time && !profile.times.empty())) {
        const auto add = [&](CodeLocation at, std::uint64_t instructions, std::uint64_t time_ns) {
            by_time ? weights.add(at, time_ns, instructions)
                    : weights.add(at, instructions, time_ns);
        };
        for (const Stack& stack : profile.stacks)
            if (!stack.frames.empty()) add(stack.frames.back(), stack.instructions, 0);
        for (const PlaceTime& time : profile.times) add(time.at, 0, time.time_ns);
        return {by_time ? FunctionWeight::time : FunctionWeight::instructions,
                weights.take(function_errors(profile, symbols).of(weight)),
                by_time ? weights.share_of_weight_alone() : weights.share_of_other_alone()};
    }
    for (const Edge& edge : profile.edges) weights.add(edge.to, edge.count);
    return {FunctionWeight::blocks, weights.take({})};
}

std::vector<HotPath> hot_paths(const Profile& profile, std::size_t most) {
    std::vector<HotPath> paths;
    double total = 0;
    for (const Path& path : profile.paths) {
        double weight = static_cast<double>(path.count) * static_cast<double>(path.instructions);
        paths.push_back({&path, weight, {}});
        total += weight;
    }
    for (HotPath& path : paths) {
        path.share = total > 0 ? path.share / total : 0;
        if (path.path->error && path.path->count != 0)
            path.error = path.share * *path.path->error / static_cast<double>(path.path->count);
    }
    keep_hottest(paths, most, [](const HotPath& a, const HotPath& b) { return a.share > b.share; });
    return paths;
}

std::vector<HotBranch> hot_branches(const Profile& profile, std::size_t most) {
    std::unordered_map<CodeLocation, HotBranch, CodeLocationHash> by_branch;
    for (const Edge& edge : profile.edges) add_edge(by_branch[edge.from], edge);
    std::vector<HotBranch> branches;
    for (const auto& [from, branch] : by_branch) branches.push_back(branch);
    keep_hottest(branches, most, [](const HotBranch& a, const HotBranch& b) {
        return a.count != b.count ? a.count > b.count : a.from < b.from;
    });
    return branches;
}

std::vector<const ValueProfile*> invariant_values(const Profile& profile, SymbolSource& symbols,
                                                  std::size_t most) {
    constexpr double min_invariance = 0.5;
    std::vector<const ValueProfile*> values;
    for (const ValueProfile& value : profile.values)
        if (share_of(value.invariance) >= min_invariance) values.push_back(&value);
    std::stable_sort(values.begin(), values.end(), [](const auto* a, const auto* b) {
        return weight_of_top(*a) > weight_of_top(*b);
    });
    std::vector<const ValueProfile*> kept;
    for (const ValueProfile* value : values) {
        if (kept.size() == most) break;
        if (!is_constant_by_design(symbols.instruction_text(value->at))) kept.push_back(value);
    }
    return kept;
}

std::vector<CallerDependence> caller_dependent_values(const Profile& profile, std::size_t most) {
    constexpr double min_gain = 0.2;
    constexpr std::uint64_t min_count = 32;
    std::vector<CallerDependence> found;
    for (const ValueProfile& value : profile.values) {
        double executions = 0, invariant = 0;
        for (const CallerValues& by : value.by_caller) {
            if (by.count < min_count) continue;
            executions += static_cast<double>(by.count);
            invariant += share_of(by.invariance) * static_cast<double>(by.count);
        }
        const double gain = invariant - share_of(value.invariance) * executions;
        if (gain > min_gain * executions) found.push_back({&value, invariant / executions, gain});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.gain > b.gain; });
    found.resize(std::min(found.size(), most));
    return found;
}

bool is_constant_by_design(std::string_view text) {
    std::string_view mnemonic = text.substr(0, text.find(' '));
    std::string_view first = operand(text, 0), second = operand(text, 1);
    if (mnemonic == "mov" || mnemonic == "movabs") return second.starts_with("0x");
    if (mnemonic == "lea") return second.starts_with("[rip");
    bool zeroing = mnemonic == "xor" || mnemonic == "sub" || mnemonic == "pxor" ||
                   mnemonic == "xorps" || mnemonic == "xorpd" || mnemonic == "vpxor" ||
                   mnemonic == "vxorps" || mnemonic == "vxorpd";
    if (!zeroing || second.empty()) return false;
    std::string_view third = operand(text, 2);
    return third.empty() ? first == second : second == third;
}

std::vector<const AddressPattern*> unforeseeable_first(const std::vector<AddressPattern>& list) {
    auto pointers = all_of(list);
    std::stable_partition(pointers.begin(), pointers.end(), [](const AddressPattern* each) {
        const AddressMoves& moves = each->moves;
        return moves.chased + moves.irregular > moves.constant + moves.strided();
    });
    return pointers;
}

}  // namespace shadowprof
