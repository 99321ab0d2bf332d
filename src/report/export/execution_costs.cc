#include "report/export/execution_costs.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "decoder/instruction.h"
#include "report/lists/frames.h"
#include "report/lists/instruction_counts.h"
#include "report/lists/methods.h"
#include "report/symbols/completed_symbols.h"
#include "report/symbols/elf/plt.h"
#include "report/symbols/module_file.h"

namespace shadowprof {
namespace {

class CostCollector {
  public:
    CostCollector(const Profile& profile, SymbolSource& recorded)
        : profile_(profile), symbols_(recorded, profile.modules) {}

    ExecutionCosts take() {
        for (std::uint32_t i = 0; i < profile_.modules.size(); ++i) add_module(i);
        add_uncounted_stacks();
        add_calls();
        add_jumps();
        return std::move(costs_);
    }

  private:
    FunctionCosts& function(CodeLocation start) {
        const auto [it, added] = costs_.functions.try_emplace(start);
        if (added) {
            const ExportFrame frame = function_frame(profile_.modules, symbols_, start);
            it->second.name = frame.function;
            it->second.file = frame.file;
            it->second.line = frame.line;
        }
        return it->second;
    }

    LineCosts& place(CodeLocation at) {
        const auto [it, added] =
            function(symbols_.function_start(at)).places.try_emplace(at.address, LineCosts{});
        if (added) {
            const CodeSymbol& symbol = symbols_.symbol(at);
            it->second.file = symbol.file;
            it->second.line = symbol.line;
        }
        return it->second;
    }

    void add_instructions(CodeLocation at, std::uint64_t count) {
        place(at).instructions += count;
        costs_.instructions += count;
    }

    void add_module(std::uint32_t module) {
        auto file = open_module_file(profile_.modules[module]);
        if (!file) {
            costs_.notes.push_back("only by function, from call stacks: " + file.error().message);
            return;
        }
        const ElfFile& elf = *(files_[module] = std::move(file).value());
        for (const auto* name : plt_sections)
            if (const auto section = elf.section(name))
                costs_.linkage_tables.push_back(
                    {module, section->address, section->address + section->size_bytes});
        const auto code = [&](std::uint64_t address, std::span<std::byte> to) {
            return elf.read(address, to);
        };
        for (const auto& each : count_instructions(profile_, module, code, symbols_))
            add_instructions({module, each.address}, each.executions);
    }

    void add_uncounted_stacks() {
        for (const Stack& stack : profile_.stacks)
            if (!stack.frames.empty() && !files_.contains(stack.frames.back().module))
                add_instructions(symbols_.function_start(stack.frames.back()), stack.instructions);
    }

    void add_calls() {
        for (const Edge& edge : profile_.edges)
            if (edge.kind == EdgeKind::call) {
                call_sites_.insert(edge.from);
                place(edge.from).calls[symbols_.function_start(edge.to)].count += edge.count;
            }
        if (profile_.call_costs.empty())
            for (const Stack& stack : profile_.stacks) add_inclusive(stack);
        for (const CallCost& cost : profile_.call_costs)
            call_between(cost.site, cost.callee)->instructions += cost.instructions;
        for (auto& [start, function] : costs_.functions)
            for (auto& [address, place] : function.places) settle(place.calls);
        share_out_entries();
        // Callees that did not execute within samples need names as well.
        for (const CodeLocation& callee : callees_) function(callee);
    }

    bool is_call(CodeLocation at, std::size_t length) {
        const auto file = files_.find(at.module);
        if (file == files_.end()) return call_sites_.contains(at);
        std::array<std::byte, Instruction::max_length> bytes;
        const std::size_t got = file->second->read(at.address, bytes);
        const auto call =
            Instruction::decode(std::span(bytes).first(got), GuestAddress{at.address});
        return call && call->length() == length &&
               (call->flow() == Flow::call || call->flow() == Flow::indirect_call);
    }

    // Stacks name a call by its last byte, edges by its first one.
    CodeLocation call_site(CodeLocation frame) {
        // The most frequent lengths first: direct, through the GOT, through a register or its
        // memory. A call without its prefix also decodes as a call, so calls that edges name are
        // preferred.
        for (const bool by_edge : {true, false})
            for (const std::size_t length : {5U, 6U, 2U, 3U, 4U, 7U, 8U}) {
                const CodeLocation at{frame.module, frame.address + 1 - length};
                if (by_edge && !call_sites_.contains(at)) continue;
                if (is_call(at, length)) return at;
            }
        return frame;
    }

    // The costs of the call between two adjacent frames. They are cached in calls_, as stacks name
    // the same frames again and again.
    CallCosts* call_between(CodeLocation caller, CodeLocation callee) {
        const auto [it, added] = calls_.try_emplace({caller, callee}, nullptr);
        if (added) it->second = &place(call_site(caller)).calls[symbols_.function_start(callee)];
        return it->second;
    }

    // A recursive stack counts once for each of its calls.
    void add_inclusive(const Stack& stack) {
        std::vector<CallCosts*> calls;
        for (std::size_t i = 0; i + 1 < stack.frames.size(); ++i)
            calls.push_back(call_between(stack.frames[i], stack.frames[i + 1]));
        std::sort(calls.begin(), calls.end());
        calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
        for (CallCosts* call : calls) call->instructions += stack.instructions;
    }

    // A call through the PLT has its count at the stub and its instructions at the function behind
    // it, which has the stub's name, or another one where that is an alias. This joins both.
    void settle(std::map<CodeLocation, CallCosts>& calls) {
        std::vector<CodeLocation> stubs, behind;
        for (const auto& [callee, call] : calls) {
            const bool stub = symbols_.symbol(callee).function.ends_with(plt_suffix);
            if (stub) stubs.push_back(callee);
            if (!stub && call.count == 0) behind.push_back(callee);
        }
        for (const CodeLocation& stub : stubs) {
            auto name = symbols_.symbol(stub).function;
            name.remove_suffix(plt_suffix.size());
            auto function = std::ranges::find_if(behind, [&](const CodeLocation& callee) {
                return symbols_.symbol(callee).function == name;
            });
            if (function == behind.end() && stubs.size() == 1 && behind.size() == 1)
                function = behind.begin();
            if (function == behind.end()) continue;
            calls[*function].count += calls[stub].count;
            calls.erase(stub);
        }
        for (auto& [callee, call] : calls) {
            counted_[callee] += call.count;
            (call.count == 0 ? by_stacks_ : by_edges_)[callee].push_back(&call);
            callees_.insert(callee);
        }
    }

    // Entries without a call come from tail calls in functions that the callers in stacks had
    // called. How many came through which caller is unknown, so they are divided in proportion to
    // instructions.
    void share_out_entries() {
        for (auto& [callee, calls] : by_stacks_) {
            for (CallCosts* call : calls) call->count = 1;
            counted_[callee] += calls.size();
        }
        std::map<CodeLocation, std::uint64_t> entries;
        for (const FunctionEntry& entry : function_entries(profile_, symbols_))
            entries[symbols_.function_start(entry.at)] += entry.count;
        for (const auto& [callee, entered] : entries) {
            const std::uint64_t known = counted_[callee];
            const auto& callers = by_stacks_.contains(callee) ? by_stacks_ : by_edges_;
            const auto calls = callers.find(callee);
            if (entered > known && calls != callers.end())
                share_out(entered - known, calls->second);
        }
    }

    static void share_out(std::uint64_t entries, const std::vector<CallCosts*>& calls) {
        double all = 0, so_far = 0;
        for (const CallCosts* call : calls) all += static_cast<double>(call->instructions);
        std::uint64_t given = 0;
        for (CallCosts* call : calls) {
            so_far += static_cast<double>(call->instructions);
            const double part = all > 0 ? so_far / all * static_cast<double>(entries) : 0;
            const std::uint64_t up_to =
                call == calls.back() ? entries
                                     : std::clamp(static_cast<std::uint64_t>(part), given, entries);
            call->count += up_to - given;
            given = up_to;
        }
    }

    void add_jumps() {
        std::map<CodeLocation, std::uint64_t> executed;
        for (const Edge& edge : profile_.edges) executed[edge.from] += edge.count;
        for (const Edge& edge : profile_.edges) {
            const bool jump = edge.kind == EdgeKind::taken || edge.kind == EdgeKind::jump ||
                              edge.kind == EdgeKind::indirect;
            if (!jump || edge.to.module != edge.from.module) continue;
            const CodeLocation from = symbols_.function_start(edge.from),
                               to = symbols_.function_start(edge.to);
            function(to);
            place(edge.from).jumps.push_back(
                {.to = edge.to.address,
                 .to_line = symbols_.symbol(edge.to).line,
                 .conditional = edge.kind == EdgeKind::taken,
                 .taken = edge.count,
                 .executed = executed[edge.from],
                 .function = from == to ? std::nullopt : std::optional(to)});
        }
    }

    struct FramesHash {
        std::size_t operator()(const std::pair<CodeLocation, CodeLocation>& frames) const {
            const CodeLocationHash hash;
            return hash(frames.first) * 31 + hash(frames.second);
        }
    };

    const Profile& profile_;
    CompletedSymbols symbols_;
    ExecutionCosts costs_;
    // Points into costs_, while stacks are added.
    std::unordered_map<std::pair<CodeLocation, CodeLocation>, CallCosts*, FramesHash> calls_;
    // Files of the modules whose instructions were counted from edges.
    std::map<std::uint32_t, std::unique_ptr<ElfFile>> files_;
    std::set<CodeLocation> call_sites_;  // from edges
    std::set<CodeLocation> callees_;
    std::map<CodeLocation, std::uint64_t> counted_;  // calls of each function, from edges
    // Calls of each function that edges show, and those that only stacks show.
    std::map<CodeLocation, std::vector<CallCosts*>> by_edges_, by_stacks_;
};

}  // namespace

ExecutionCosts execution_costs(const Profile& profile, SymbolSource& recorded) {
    return CostCollector(profile, recorded).take();
}

Error no_edges() {
    return {ErrorCode::not_found, 0,
            "the profile has no edges; profile with 'edge' among --profiles"};
}

}  // namespace shadowprof
