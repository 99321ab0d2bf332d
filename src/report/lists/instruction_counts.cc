#include "report/lists/instruction_counts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "decoder/instruction.h"

namespace shadowprof {
namespace {

// Adds with saturation, as counts of a hostile profile may overflow.
std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
    return a > std::numeric_limits<std::uint64_t>::max() - b
               ? std::numeric_limits<std::uint64_t>::max()
               : a + b;
}

using CountByAddress = std::map<std::uint64_t, std::uint64_t>;

bool is_branch(Flow flow) {
    switch (flow) {
        case Flow::conditional:
        case Flow::jump:
        case Flow::indirect_jump:
        case Flow::call:
        case Flow::indirect_call:
        case Flow::ret:
            return true;
        case Flow::next:
        case Flow::syscall:
        case Flow::other:
            return false;
    }
    return false;
}

void add(CountByAddress& counts, std::uint64_t address, std::uint64_t count) {
    auto& sum_there = counts[address];
    sum_there = sum(sum_there, count);
}

std::optional<Instruction> decode(const CodeReader& code, std::uint64_t address) {
    std::array<std::byte, Instruction::max_length> bytes;
    const std::size_t got = code(address, bytes);
    return Instruction::decode(std::span(bytes).first(got), GuestAddress{address});
}

// The counts of edges into and out of the instructions of one module.
struct ModuleFlow {
    CountByAddress in, out;
    std::map<std::uint64_t, std::uint64_t> function_of;  // by branch: the start of its function

    ModuleFlow(const Profile& profile, std::uint32_t module, SymbolSource& symbols) {
        for (const Edge& edge : profile.edges) {
            if (edge.to.module == module) add(in, edge.to.address, edge.count);
            if (edge.from.module == module) add_branch(edge, symbols);
        }
        // Control may enter a function from the kernel.
        for (const auto& [branch, start] : function_of) in.try_emplace(start, 0);
    }

    std::uint64_t into(std::uint64_t address) const { return at(in, address); }
    std::uint64_t out_of(std::uint64_t address) const { return at(out, address); }

  private:
    static std::uint64_t at(const CountByAddress& counts, std::uint64_t address) {
        const auto found = counts.find(address);
        return found == counts.end() ? 0 : found->second;
    }
    void add_branch(const Edge& edge, SymbolSource& symbols) {
        add(out, edge.from.address, edge.count);
        const auto start = symbols.symbol(edge.from).function_start;
        if (start && *start <= edge.from.address) function_of[edge.from.address] = *start;
    }
};

class RunCounter {
  public:
    RunCounter(const ModuleFlow& flow, const CodeReader& code) : flow_(flow), code_(code) {}

    std::vector<InstructionCount> count() {
        for (const auto& [start, entries] : flow_.in)
            if (start >= covered_) follow(start);
        for (const auto& [branch, times] : flow_.out) {
            auto& counted = counts_[branch];
            counted = std::max(counted, times);
        }
        std::vector<InstructionCount> list;
        for (const auto& [address, executions] : counts_)
            if (executions > 0) list.push_back({address, executions});
        return list;
    }

  private:
    // Follows the code from `start` to a branch after which nothing continues.
    void follow(std::uint64_t start) {
        std::uint64_t run = start, coming = 0;
        for (std::uint64_t at = start;;) {
            coming = sum(coming, flow_.into(at));
            const auto instruction = decode(code_, at);
            if (!instruction) return;
            counts_[at] = coming;
            covered_ = at + instruction->length();
            if (covered_ <= at) return;
            coming = sum(coming, count_inside(at, covered_));
            if (is_branch(instruction->flow())) {
                add_missing(run, at, coming);
                if (!flow_.in.contains(covered_)) return;
                run = covered_;
                coming = 0;
            }
            at = covered_;
        }
    }

    // Executions that left a function's first run without having come by an edge entered at its
    // start.
    void add_missing(std::uint64_t run, std::uint64_t branch, std::uint64_t came) {
        const std::uint64_t left = flow_.out_of(branch);
        const auto function = flow_.function_of.find(branch);
        if (left <= came || function == flow_.function_of.end() || function->second != run) return;
        for (auto it = counts_.find(run); it != counts_.end() && it->first <= branch; ++it)
            it->second = sum(it->second, left - came);
    }

    // Counts entries into the middle of an instruction, behind a prefix, that end where the
    // instruction does.
    std::uint64_t count_inside(std::uint64_t begin, std::uint64_t end) {
        std::uint64_t entered = 0;
        for (auto it = flow_.in.upper_bound(begin); it != flow_.in.end() && it->first < end; ++it) {
            const auto rest = decode(code_, it->first);
            if (it->second == 0 || !rest || it->first + rest->length() != end) continue;
            counts_[it->first] = it->second;
            entered = sum(entered, it->second);
        }
        return entered;
    }

    const ModuleFlow& flow_;
    const CodeReader& code_;
    CountByAddress counts_;
    std::uint64_t covered_ = 0;  // code below this address has been followed
};

}  // namespace

std::vector<InstructionCount> count_instructions(const Profile& profile, std::uint32_t module,
                                                 const CodeReader& code, SymbolSource& symbols) {
    const ModuleFlow flow(profile, module, symbols);
    return RunCounter(flow, code).count();
}

std::vector<ExecutedRun> executed_runs(const Profile& profile, std::uint32_t module,
                                       const CodeReader& code) {
    CountByAddress entries;
    for (const Edge& edge : profile.edges)
        if (edge.to.module == module) add(entries, edge.to.address, edge.count);
    std::vector<ExecutedRun> runs;
    std::map<std::uint64_t, std::optional<std::uint64_t>> branch_behind;  // by entry
    // Goes backwards: an earlier entry that runs into a later one ends where that one does.
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        auto& branch = branch_behind[entry->first];
        for (std::uint64_t at = entry->first;;) {
            const auto instruction = decode(code, at);
            if (!instruction || at + instruction->length() <= at) break;
            if (is_branch(instruction->flow())) {
                branch = at;
                break;
            }
            at += instruction->length();
            if (const auto later = branch_behind.find(at); later != branch_behind.end()) {
                branch = later->second;
                break;
            }
        }
        if (branch && entry->second > 0) runs.push_back({entry->first, *branch, entry->second});
    }
    return runs;
}

}  // namespace shadowprof
