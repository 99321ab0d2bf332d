// Follows the calls and returns in one emulator's blocks, and adds up what each call costs.
//
// Each thread has a stack of calls in progress. A call notes the thread's count of instructions,
// and its return adds the difference. So calls cost the same however deep they are nested, where
// call stacks (StackTree) take room for each way to reach a function.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "profile/code/block_view.h"
#include "profile/code/index_table.h"
#include "profile/profile.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

struct LeftStack;  // profile/flow/left_frames.h

class CallCostCollector {
  public:
    // How many calls a return is compared with, the innermost first. An exception or a longjmp may
    // have left frames in between. A return that fits none is taken for a jump.
    static constexpr std::size_t max_search = 256;
    // With more calls in progress all are forgotten.
    static constexpr std::size_t max_depth = std::size_t{1} << 20;

    // `blocks` must outlive it.
    explicit CallCostCollector(const BlockView& blocks) : blocks_(blocks) {}

    // From now on each instruction counts `weight` times.
    void set_weight(std::uint32_t weight) { weight_ = weight; }
    // Ends all calls in progress.
    void begin_sample();
    // A thread begins with this stack, the innermost first: program counter, then return addresses.
    void begin_thread(std::uint32_t thread, std::span<const CodeLocation> stack);
    // The ids of records have new meanings.
    void new_emulator() {
        records_.clear();
        steps_.clear();
    }
    enum class Counting : std::uint8_t { counts, follows_only };
    // Takes blocks that the thread executed one after the other, behind those before.
    void take(std::uint32_t thread, std::span<const BlockToken> blocks, Counting counting);
    // Takes a record that always has these blocks.
    void take_record(std::uint32_t thread, std::uint32_t id, std::span<const BlockToken> blocks);

    // A call in progress. Calls are of the collector that gave them.
    using PairId = std::uint32_t;
    struct OpenCall {
        CodeLocation return_to, function;
        PairId pair = 0;

        friend bool operator==(const OpenCall&, const OpenCall&) = default;
    };
    // Takes the thread's calls off: they cost nothing until a thread goes on with them. The
    // outermost comes first.
    std::vector<OpenCall> suspend(std::uint32_t thread);
    // The thread, whose own calls end, goes on with these, or in the function that executes.
    void resume(std::uint32_t thread, std::span<const OpenCall> calls);
    // The thread leaves its innermost calls at once: see StackTree::leave(). Returns how many calls
    // are left over that have a return address.
    std::size_t leave(std::uint32_t thread, const LeftStack& stack);
    // How many it would leave over.
    std::size_t calls_behind(std::uint32_t thread, const LeftStack& stack) const;
    // The thread is called at this place by no call of its own: a signal interrupts it.
    void interrupt(std::uint32_t thread, CodeLocation at, CodeLocation handler);

  private:
    friend class CallCostTotals;
    // For the outermost frame, which was not called.
    static constexpr PairId no_pair = ~PairId{0};

    // What is needed of a block, by its token.
    struct Block {
        CodeLocation start, end;
        CodeLocation function;           // the one around it; `start` if that is not known
        std::uint32_t instructions = 0;  // 0: not filled
        Terminator terminator = Terminator::none;
        bool knows_function = false;
        PairId last_pair = no_pair;  // of its last call
    };
    struct Pair {
        CodeLocation return_to, callee;
        std::uint64_t calls = 0, instructions = 0;
    };
    struct Frame {
        CodeLocation return_to, function;
        PairId pair = no_pair;
        bool is_outermost = false;  // of the calls in progress of this pair
        std::uint64_t began = 0;    // in the thread's instructions
    };
    struct Thread {
        BlockToken last = 0;  // 0: not known
        std::uint64_t instructions = 0;
        std::vector<Frame> frames = {};
        std::vector<std::uint32_t> in_progress = {};  // by pair
    };
    // What happens in a record between its blocks.
    enum class Happens : std::uint8_t {
        whole_call,  // a call that returns in the record, or ends in a jump to another function
        call,        // one that goes on behind the record
        return_to,   // from a call that began before the record
        enter,       // control is in a function now
    };
    struct Step {
        Happens what = Happens::enter;
        PairId pair = no_pair;           // of calls
        std::uint32_t offset = 0;        // instructions of the record before it
        std::uint32_t calls = 0;         // 0 where a jump takes the place of a call
        std::uint32_t instructions = 0;  // of a whole call; 0 if it is in another one of its pair
        CodeLocation place = {};         // returned to, or the function
    };
    // What executing a record does, where that is always the same.
    struct Record {
        bool is_known = false;
        bool has_steps = false;  // else its blocks must be followed one by one
        BlockToken first = 0, last = 0;
        std::uint32_t instructions = 0;
        std::uint32_t first_step = 0, steps = 0;
    };
    class RecordSteps;

    Thread& thread(std::uint32_t number);
    Block& block(BlockToken token);
    Record known_record(std::span<const BlockToken> blocks);
    void apply(Thread& of, const Step& step);
    static bool leaves_function(const Frame& frame, const Block& from, const Block& to);
    void step(Thread& of, Block& from, const Block& to, std::uint64_t weight);
    void call(Thread& of, PairId pair, std::uint64_t times);
    void return_to(Thread& of, CodeLocation to);
    void go_to_function(Thread& of, CodeLocation function);
    void open(Thread& of, CodeLocation return_to, CodeLocation function, PairId pair);
    void close_last(Thread& of);
    PairId pair_id(CodeLocation return_to, CodeLocation callee);

    const BlockView& blocks_;
    std::vector<Block> known_;     // by token
    std::vector<Record> records_;  // by id
    std::vector<Step> steps_;      // of all records
    std::vector<Pair> pairs_;
    IndexTable pair_index_;
    std::vector<Thread> threads_;
    std::uint64_t weight_ = 1;
};

// Sums over the collectors of several emulators.
class CallCostTotals {
  public:
    // Calls in progress count as far as they have come.
    void add(const CallCostCollector& collector);
    // Sets the profile's costs of calls, scaled and the largest first.
    void fill(Profile& profile, const CountScale& scale) const;

  private:
    std::map<std::pair<CodeLocation, CodeLocation>, CallCost> costs_;
};

}  // namespace shadowprof
