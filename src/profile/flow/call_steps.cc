#include "profile/flow/call_steps.h"

namespace shadowprof {
namespace {

class StepsBuilder {
  public:
    explicit StepsBuilder(const CanonicalBlock& first)
        : function_(first.function->start), instructions_(first.instructions) {}

    // False if the calls in progress matter.
    bool add(const CanonicalBlock& from, const CanonicalBlock& to) {
        const CodeLocation function = to.function->start;
        // A call to the next instruction only reads the program counter.
        if (is_call(from.terminator) && to.start != from.end) {
            open_.push_back({from.end, function});
            put({.what = CallStep::What::call, .place = from.end, .function = function});
        } else if (from.terminator == Terminator::ret && !open_.empty()) {
            if (open_.back().return_to != to.start) return false;
            open_.pop_back();
            put({.what = CallStep::What::end_call, .place = to.start});
        } else if (from.terminator == Terminator::ret) {
            put({.what = CallStep::What::return_to, .place = to.start});
            function_.reset();
        }
        auto& executing = open_.empty() ? function_ : open_.back().function;
        if (executing != function) {
            executing = function;
            put({.what = CallStep::What::enter, .function = function});
        }
        instructions_ += to.instructions;
        return true;
    }
    std::vector<CallStep> take_steps() { return std::move(steps_); }

  private:
    struct Open {
        CodeLocation return_to;
        std::optional<CodeLocation> function;
    };

    void put(CallStep step) {
        step.offset = instructions_;
        steps_.push_back(step);
    }

    std::optional<CodeLocation> function_;  // that executes outside of open_; nothing: not known
    std::vector<Open> open_;                // calls that began in the blocks
    std::uint32_t instructions_;
    std::vector<CallStep> steps_;
};

}  // namespace

std::optional<std::vector<CallStep>> call_steps(std::span<const BlockToken> tokens,
                                                const BlockView& blocks) {
    for (const BlockToken token : tokens)
        if (!blocks[token].function) return std::nullopt;
    StepsBuilder steps(blocks[tokens[0]]);
    for (std::size_t i = 1; i < tokens.size(); ++i)
        if (!steps.add(blocks[tokens[i - 1]], blocks[tokens[i]])) return std::nullopt;
    return steps.take_steps();
}

}  // namespace shadowprof
