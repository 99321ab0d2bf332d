#include "report/findings/finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "base/text/numbered.h"
#include "base/text/text_format.h"
#include "profile/kinds/values/value_number.h"
#include "profile/statistics/independent_trials.h"
#include "report/findings/arguments.h"
#include "report/findings/call_arguments.h"
#include "report/lists/place_filter.h"
#include "report/symbols/location_name.h"
#include "report/text/facts_text.h"

namespace shadowprof {
namespace {

// The least share of the instructions for which a function is searched.
constexpr double min_function_share = 0.005;
constexpr std::size_t max_searched_functions = 100;
// The least share of instructions that a finding must have at stake to be worth a line.
constexpr double min_at_stake = 0.002;
// Thresholds that shares must certainly reach.
constexpr double min_invariance_found = 0.9, min_unchanged = 0.95, min_target = 0.9,
                 min_taken = 0.95, min_lost = 0.01, min_pattern = 0.6, min_mispredicted = 0.1;
constexpr double min_loads = 30;
// The least number that a branch must certainly have.
constexpr double min_mispredictions_per_thousand_instructions = 0.5;
// A round number for the cost of a misprediction in cycles, which is 10 to 20 on most processors.
constexpr double misprediction_cycles = 13;
// Approximate costs of hazards in cycles: Intel, Optimization Reference Manual, 3.6.4 and 3.6.8.
constexpr double hazard_cycles[hazard_kinds] = {12, 5, 2, 10};

bool is_stack_based(const ZydisDecodedOperand& operand) {
    return operand.mem.base == ZYDIS_REGISTER_RSP || operand.mem.base == ZYDIS_REGISTER_RBP;
}

// Whether a number is larger than usual and in the range of user addresses.
bool looks_like_pointer(const std::vector<std::byte>& value) {
    if (value.size() != 8) return false;
    const std::uint64_t number = number_of(value);
    return number >= 0x10000 && number < std::uint64_t{1} << 47;
}

// "all", "at least 95.6%"
std::string at_least(double share) {
    return share == 1 ? "all" : fmt::format("at least {}", percent(share));
}

// An executed instruction, decoded.
struct FindingSite {
    const AnnotatedFunction& function;
    const AnnotatedInstruction& annotated;
    const Instruction& instruction;
    CodeLocation at;
};

class Finder {
  public:
    Finder(const Profile& profile, Annotator& annotator)
        : profile_(profile), annotator_(annotator) {
        for (const Stack& stack : profile.stacks)
            instructions_ += static_cast<double>(stack.instructions);
        for (const LoadLatency& load : profile.latency)
            lost_cycles_ += static_cast<double>(load.lost_cycles);
        for (const Edge& edge : profile.edges) {
            entries_[edge.to] += static_cast<double>(edge.count);
            if (edge.kind == EdgeKind::call)
                callers_[edge.to].push_back({edge.from, edge.count});
            else if (edge.kind != EdgeKind::fall_through && edge.kind != EdgeKind::ret)
                joins_.insert(edge.to);
        }
    }

    std::vector<Finding> take() {
        if (instructions_ > 0) look_at_functions();
        look_at_loads();
        look_at_mispredictions();
        // Users can change their own code.
        std::ranges::stable_sort(findings_, std::greater{}, [&](const Finding& each) {
            return std::pair(!is_in_library(each.at), each.at_stake);
        });
        return std::move(findings_);
    }

  private:
    std::string name(CodeLocation at) {
        return location_name(profile_.modules, annotator_.symbols(), at);
    }
    bool is_in_library(CodeLocation at) const {
        return at.module < profile_.modules.size() &&
               is_system_library(profile_.modules[at.module].path);
    }
    // A lower bound for `share` in `executions` executions.
    double certain(double share, double executions) const {
        const double n = independent_trials(profile_.sampling, executions);
        return wilson_lower(share * n, n);
    }

    void look_at_functions() {
        std::size_t looked_at = 0;
        for (const HotFunction& hot : annotator_.functions().list) {
            if (hot.share < min_function_share || ++looked_at > max_searched_functions) return;
            const AnnotatedFunction& function = annotator_.annotate(hot.at);
            if (function.lines_are_of_file) look_at(function);
        }
    }

    void look_at(const AnnotatedFunction& function) {
        const auto arguments = argument_copies(function.code);
        std::set<std::string> found;  // registers
        for (std::size_t i = 0; i < function.code.size(); ++i) {
            const AnnotatedInstruction& each = function.code[i];
            if (each.executions.value_or(0) == 0) continue;
            const auto decoded = each.decode();
            if (!decoded) continue;
            const FindingSite site{function, each, *decoded, {function.start.module, each.address}};
            if (const auto argument = arguments.find(i); argument != arguments.end())
                look_at_argument(site, argument->second, found);
            else
                look_at_value(site);
            look_at_branch(site);
            look_at_hazards(site);
        }
        look_at_calls(function, found);
    }

    double executed_share(const FindingSite& site) const {
        return static_cast<double>(site.annotated.executions.value_or(0)) / instructions_;
    }
    double function_share(CodeLocation start) const {
        const HotFunction* hot = annotator_.hot_function(start);
        return hot == nullptr ? 0 : hot->share;
    }

    // Returns whether it is worth a line.
    bool add(Finding finding, double least) {
        if (finding.share < least || finding.at_stake < min_at_stake) return false;
        findings_.push_back(std::move(finding));
        return true;
    }

    // Returns nothing if no value is frequent enough.
    static const TopValue* top_of(const FindingSite& site, const ValueProfile*& value) {
        const auto& values = site.annotated.values;
        if (values.size() != 1 || !values.front()->invariance) return nullptr;
        value = values.front();
        return &value->top.front();
    }
    static std::string seen(const ValueProfile& value, const std::string& number) {
        return fmt::format("{} in {} of {} recorded executions", number,
                           percent(value.invariance->share), count_text(value.count));
    }

    void look_at_argument(const FindingSite& site, const std::string& argument,
                          std::set<std::string>& found) {
        if (found.contains(argument)) return;
        const ValueProfile* value = nullptr;
        const TopValue* top = top_of(site, value);
        if (!top || (argument.starts_with('r') &&
                     !is_plain_number(number_of(top->value), top->value.size())))
            return;
        const std::string number = argument_text(argument, top->value, value->type);
        Finding finding{.kind = FindingKind::argument,
                        .at = site.at,
                        .what = fmt::format("{} of {} is {}", argument, site.function.name, number),
                        .evidence = {seen(*value, number)},
                        .share = value->invariance->lower_bound,
                        .at_stake = site.function.share};
        for (const CallerValues& by : value->by_caller) {
            if (finding.evidence.size() > 3 || by.callers.empty() || by.top.empty()) break;
            finding.evidence.push_back(
                fmt::format("from {}: {} in {} of {}", name(by.callers.front()),
                            argument_text(argument, by.top.front().value, value->type),
                            percent(share_of(by.invariance)), count_text(by.count)));
        }
        if (add(std::move(finding), min_invariance_found)) found.insert(argument);
    }

    // Arguments that are used where they came, and of which nothing is copied that would be
    // recorded.
    void look_at_calls(const AnnotatedFunction& function, const std::set<std::string>& found) {
        const auto callers = callers_.find(function.start);
        if (callers == callers_.end()) return;
        const double entries = entries_[function.start];
        for (const PassedArgument& argument :
             passed_arguments(function, entries, callers->second, joins_, annotator_)) {
            if (found.contains(argument.name)) continue;
            const std::string number = std::to_string(static_cast<std::int64_t>(argument.value));
            Finding finding{
                .kind = FindingKind::argument,
                .at = function.start,
                .what = fmt::format("{} of {} is {}", argument.name, function.name, number),
                .evidence = {fmt::format("{} in {} of {} calls", number, at_least(argument.share),
                                         short_count(entries))},
                .share = certain(argument.share, entries),
                .at_stake = function.share};
            for (const PassedValue& each : argument.sites) {
                if (finding.evidence.size() > 3) break;
                finding.evidence.push_back(
                    fmt::format("from {}: {} in {} of {}", name(each.site.at),
                                std::to_string(static_cast<std::int64_t>(each.value)),
                                at_least(each.share), count_text(each.site.count)));
            }
            add(std::move(finding), min_invariance_found);
        }
    }

    // Only loads count, as results computed from a constant are constant anyway.
    void look_at_value(const FindingSite& site) {
        const ValueProfile* value = nullptr;
        const TopValue* top = top_of(site, value);
        const auto* memory = site.instruction.modrm_memory();
        const bool loads = memory && site.instruction.accesses_memory() &&
                           (memory->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 &&
                           site.instruction.operands().size() == 2;
        // The canary of stack protectors, thread-local storage and stack slots are no findings.
        if (!top || !loads || is_stack_based(*memory) || memory->mem.segment == ZYDIS_REGISTER_FS ||
            memory->mem.segment == ZYDIS_REGISTER_GS)
            return;
        const bool global = memory->mem.base == ZYDIS_REGISTER_RIP;
        if (global && value->invariance->share < 1) return;
        if (!global && looks_like_pointer(top->value)) return;
        const std::uint64_t address =
            site.instruction.next().value + static_cast<std::uint64_t>(memory->mem.disp.value);
        if (global && annotator_.is_constant({site.at.module, address})) return;
        const std::string number = short_value(top->value, value->type);
        add({.kind = global ? FindingKind::global : FindingKind::load,
             .at = site.at,
             .what = fmt::format("{} = {} in {}: {}", printable(value->operand), number,
                                 site.function.name, site.annotated.text),
             .evidence = {seen(*value, number)},
             .share = value->invariance->lower_bound,
             .at_stake = executed_share(site)},
            global ? min_unchanged : min_invariance_found);
    }

    void look_at_branch(const FindingSite& site) {
        const auto& [function, annotated, instruction, at] = site;
        if (annotated.successors.empty()) return;
        const auto left = static_cast<double>(annotated.times_left());
        const Successor& most = annotated.successors.front();
        const double share = ratio(static_cast<double>(most.count), left);
        if (instruction.flow() == Flow::indirect_call && most.kind == EdgeKind::call) {
            const auto* memory = instruction.modrm_memory();
            if (memory && memory->mem.base == ZYDIS_REGISTER_RIP) return;  // through the GOT
            const double of_callee = ratio(static_cast<double>(most.count), entries_[most.to]);
            add({.kind = FindingKind::call_target,
                 .at = at,
                 .what =
                     fmt::format("{} calls {}", name(at),
                                 function_name(profile_.modules, annotator_.symbols(), most.to)),
                 .evidence = {fmt::format("{} of {} calls, {}", percent(share), short_count(left),
                                          numbered(annotated.successors.size(), "target"))},
                 .share = certain(share, left),
                 .at_stake =
                     executed_share(site) + function_share(most.to) * std::min(1.0, of_callee)},
                min_target);
        }
        if (instruction.flow() == Flow::conditional && most.kind == EdgeKind::taken &&
            most.to.address > at.address)
            add({.kind = FindingKind::taken_branch,
                 .at = at,
                 .what = fmt::format("{} is taken: {}", name(at), annotated.text),
                 .evidence = {fmt::format("{} of {} executions", percent(share),
                                          short_count(left))},
                 .share = certain(share, left),
                 .at_stake = executed_share(site)},
                min_taken);
    }

    void look_at_hazards(const FindingSite& site) {
        for (const Hazard* hazard : site.annotated.hazards) {
            const double share = ratio(hazard->count, hazard->executions);
            const double cycles = hazard_cycles[static_cast<std::size_t>(hazard->kind)];
            const double certain_share = certain(share, static_cast<double>(hazard->executions));
            add({.kind = FindingKind::hazard,
                 .at = site.at,
                 .what = fmt::format("{}: {}", name(site.at),
                                     hazard_text(*hazard, profile_.modules, annotator_.symbols())),
                 .evidence = {fmt::format(
                     "{} of {} executions, about {:.0f} cycles each", percent(share),
                     short_count(static_cast<double>(hazard->executions)), cycles)},
                 .share = certain_share,
                 .at_stake = std::min(1.0, certain_share * executed_share(site) * cycles)},
                0.01);
        }
    }

    void look_at_loads() {
        for (const LoadLatency& load : profile_.latency) {
            const double lost = ratio(static_cast<double>(load.lost_cycles), lost_cycles_);
            const auto count = static_cast<double>(load.count());
            if (lost < min_lost || count < min_loads || load.moves.count() == 0) continue;
            const auto pattern = main_pattern(load.moves);
            const double moves = static_cast<double>(load.moves.count());
            const double share = certain(pattern.share, moves);
            if (share < min_pattern || pattern.row->name == "constant") continue;
            findings_.push_back(
                {.kind = pattern.row->name == "stride"  ? FindingKind::strided_miss
                         : pattern.row->name == "chase" ? FindingKind::chased_miss
                                                        : FindingKind::other_miss,
                 .at = load.at,
                 .what = fmt::format("{}: {}", name(load.at), pattern_text(load.moves)),
                 .evidence = {fmt::format("{}; median {:.0f} cycles of {} loads",
                                          level_shares_text(load, profile_.latency_host),
                                          load.median_cycles(), short_count(count)),
                              printable(annotator_.symbols().instruction_text(load.at))},
                 .share = share,
                 .at_stake = lost,
                 .stake = Stake::lost_cycles});
        }
    }

    // Branches are counted with all instructions that are in the profile, whether or not it has
    // stacks.
    void look_at_mispredictions() {
        const auto instructions = static_cast<double>(profile_.sampling.instructions);
        for (const PredictedBranch& branch : profile_.branches) {
            const auto executions = static_cast<double>(branch.executions);
            const double share = ratio(branch.mispredictions, branch.executions);
            const double certain_share = certain(share, executions);
            const double of_instructions = ratio(certain_share * executions, instructions);
            if (1000 * of_instructions < min_mispredictions_per_thousand_instructions) continue;
            std::string kind(branch_kind_names.at(static_cast<std::size_t>(branch.kind)));
            if (branch.kind == BranchKind::conditional)
                kind += fmt::format(", taken {}", percent(ratio(branch.taken, branch.executions)));
            add({.kind = FindingKind::mispredicted,
                 .at = branch.at,
                 .what = fmt::format("{}: {}", name(branch.at),
                                     printable(annotator_.symbols().instruction_text(branch.at))),
                 .evidence = {fmt::format("the model mispredicts {} of {} executions, {}",
                                          percent(share), short_count(executions), kind),
                              fmt::format(
                                  "{:.1f} per thousand instructions, about {:.0f} cycles each",
                                  1000 * ratio(static_cast<double>(branch.mispredictions),
                                               instructions),
                                  misprediction_cycles)},
                 .share = certain_share,
                 .at_stake = std::min(1.0, of_instructions * misprediction_cycles)},
                min_mispredicted);
        }
    }

    const Profile& profile_;
    Annotator& annotator_;
    std::map<CodeLocation, double> entries_;  // executions of edges, by where they lead
    std::map<CodeLocation, std::vector<CallSite>> callers_;  // by callee
    std::set<CodeLocation> joins_;                           // where branches lead
    double instructions_ = 0, lost_cycles_ = 0;
    std::vector<Finding> findings_;
};

}  // namespace

double wilson_lower(double hits, double trials) {
    if (trials <= 0) return 0;
    constexpr double z = 1.96;
    const double share = std::clamp(hits / trials, 0.0, 1.0), z2 = z * z / trials;
    const double middle = share + z2 / 2;
    const double half = z * std::sqrt(share * (1 - share) / trials + z2 / (4 * trials));
    return std::max(0.0, (middle - half) / (1 + z2));
}

std::vector<Finding> find_findings(const Profile& profile, Annotator& annotator) {
    return Finder(profile, annotator).take();
}

}  // namespace shadowprof
