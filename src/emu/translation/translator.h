// Translates basic blocks, links them, and keeps them as long as the guest's code stays the same,
// across samples.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decoder/instruction.h"
#include "emu/guest/guest_memory.h"
#include "emu/guest/syscall_handler.h"
#include "emu/translation/block_tables.h"
#include "emu/translation/code_cache.h"
#include "emu/translation/relocate.h"
#include "emu/watch/address_tracker.h"
#include "emu/watch/awaited_state.h"
#include "emu/watch/probe_watch.h"
#include "emu/watch/python_watch.h"
#include "emu/watch/region_watch.h"
#include "emu/watch/stack_watch.h"
#include "emu/watch/value_tracker.h"

namespace shadowprof {

struct TranslationCounters {
    std::uint64_t blocks = 0;
    std::uint64_t instructions = 0;
    std::uint64_t untranslatable = 0;  // instructions that are single-stepped on the replica
    std::uint64_t retired_blocks = 0;  // blocks whose code changed
    std::uint64_t cache_clears = 0;
    std::uint64_t nanoseconds = 0;
};

// The place in the guest that a host address of translated code belongs to.
struct GuestPosition {
    std::uint32_t block = 0;         // index of the block
    std::optional<BlockId> before;   // the sequence before the block in the same record
    GuestAddress address;            // address of the instruction
    std::uint32_t instruction = 0;   // index of the instruction in the block
    std::uint32_t words_before = 0;  // trace words of the record before it, without the id
    std::uint32_t own_words = 0;     // trace words that the instruction pushes before it may fault
    Recovery recovery = Recovery::none;
};

// How instructions are treated whose result is not a function of the guest's state: RDTSC, RDRAND,
// CPUID and the like.
enum class Nondeterminism : std::uint8_t {
    native,          // executed by the emulating process
    single_stepped,  // treated like instructions that cannot be translated
};

class Translator {
  public:
    using VdsoEntries = std::unordered_map<GuestAddress, VdsoFunction>;

    Translator(CodeCache& cache, GuestMemory& memory, BlockTables& tables)
        : cache_(cache), memory_(memory), tables_(tables) {}

    // To be called when the guest memory shows a new snapshot: drops code that has changed. Code
    // from a file mapping that nobody can write to is identified by the file; other code is
    // compared by content. `same_files`: the snapshot's mappings are those of the last one, which
    // did not change them.
    void begin_sample(VdsoEntries vdso, Nondeterminism nondeterminism, bool same_files = false);
    // The vDSO function that begins at `start`; it must be one.
    VdsoFunction vdso_function(GuestAddress start) const { return vdso_.at(start); }

    // Whether code exits with ExitReason::instrumented before each instruction that accesses
    // memory. Such an instruction is then the first of its block, and no superblocks may be formed.
    void instrument_accesses(bool is_instrumented);
    // The same for instructions that `probes` names, if accesses are not instrumented; null names
    // none. Superblocks may not contain blocks for which is_instrumented() is true. `probes` must
    // outlive its use.
    void instrument_probed(ProbeWatch* probes);
    // The same for the entries and returns of counted functions. Forgets all code.
    void instrument_regions(RegionWatch* regions) {
        clear();
        regions_ = regions;
    }
    // The same for what `python` watches. Forgets all code if that is another one.
    void instrument_python(PythonWatch* python) {
        if (python != python_) clear();
        python_ = python;
    }
    // The same for what `stacks`, which must outlive the translator, watches.
    void instrument_stacks(StackWatch* stacks) { stacks_ = stacks; }
    // To be called when `regions` watches this instruction, too.
    void instrument(GuestAddress address) { retire_around(address); }
    bool is_instrumented(GuestAddress block_start) const {
        return (probes_ && probes_->is_probed(block_start)) ||
               (regions_ && regions_->is_watched(block_start)) ||
               (python_ && python_->is_watched(block_start)) ||
               (stacks_ && stacks_->is_watched(block_start));
    }
    // The instruction in the guest's memory; nothing if there is none that could be executed.
    std::optional<Instruction> decode_at(GuestAddress address);
    // From now on code exits with ExitReason::awaited before the instruction at state->cpu.rip,
    // anywhere in a block, if the `telling` registers have the state's sum; null: nowhere. Blocks
    // are cut as without it.
    void await(const AwaitedState* state);
    // After such an exit: where the record under way is cut, and the host code that goes on.
    std::optional<GuestPosition> position_of_awaited(std::uint32_t place) const;
    const std::uint8_t* behind_awaited(std::uint32_t place) const {
        return awaited_exits_[place].behind;
    }
    // After ExitReason::instrumented: where the block starts, and the host code that goes on.
    GuestAddress block_start(std::uint32_t block) const { return blocks_[block].start; }
    const std::uint8_t* behind_instrumentation(std::uint32_t block) const {
        return blocks_[block].body;
    }

    // Host code for the block that starts at `address`; null if no instruction can be read there or
    // the block tables are full.
    const std::uint8_t* entry_for(TraceLevel level, GuestAddress address);
    // As entry_for(), and from now on indirect branches reach the block without leaving translated
    // code.
    const std::uint8_t* indirect_entry_for(TraceLevel level, GuestAddress address);
    // Host code for the single instruction at `address`, which is not kept: for an instruction that
    // changes the code that it is part of.
    const std::uint8_t* one_instruction(TraceLevel level, GuestAddress address);
    // With Nondeterminism::single_stepped: code that executes the instruction at `address` natively
    // all the same, and goes on behind it. Null if the instruction is not nondeterministic or
    // cannot be translated.
    const std::uint8_t* one_nondeterministic(TraceLevel level, GuestAddress address);
    // Whether the instruction at `address` makes a request (decoder/client_request.h). With
    // Nondeterminism::single_stepped it counts as nondeterministic.
    bool makes_request(GuestAddress address) const;

    // Translates code ahead of need, nearest first: from `roots` and from code that ran since the
    // last call, along direct branches, into calls and behind them. The levels are
    // TraceLevel::blocks and, where it pays, those of `bursts`. Only code that cannot change, by
    // its file and protection, is translated. `goes_on` is asked before each piece. True if the
    // next call has more to do; false also if the code translated ahead fills its share of the
    // memory.
    bool translate_ahead(std::span<const GuestAddress> roots, BurstLevels bursts,
                         const std::function<bool()>& goes_on);
    // To be called around translate_ahead(), and around superblocks that are made ahead.
    void begin_ahead() {
        ahead_.under_way = true;
        ahead_.constant_page.reset();
    }
    void end_ahead() { ahead_.under_way = false; }

    // exit_target() is the target of a direct branch that is not linked yet; link() links it. Exits
    // and blocks are numbered anew after clear(): compare counters().cache_clears.
    GuestAddress exit_target(std::uint32_t exit) const { return exits_[exit].target; }
    void link(std::uint32_t exit, const std::uint8_t* entry);
    // retired_start() is where a retired block started; after forward(), its code goes to `entry`.
    GuestAddress retired_start(std::uint32_t block) const { return blocks_[block].start; }
    void forward(std::uint32_t block, const std::uint8_t* entry);

    // Retires all blocks on pages that overlap a range.
    void retire_range(GuestAddress start, GuestAddress end);
    void clear();

    // Translates blocks of one level that were executed one after the other again, as a superblock:
    // one piece of code that leaves one record. The record's value words must be few beside
    // TraceBuffer::guard_bytes. From now on, the superblock is entered instead of the first block.
    // False if that cannot be done, or if the blocks' instructions do not allow this sequence.
    bool form_superblock(std::span<const BlockId> blocks);

    // Forgets all code if there are superblocks, so that each block leaves a record again.
    void drop_superblocks() {
        if (has_superblocks_) clear();
    }

    std::optional<GuestPosition> locate(std::uint64_t host_rip) const;
    // A block or sequence that stands for what was executed of a record that was left at
    // `position`; nothing if that is empty.
    std::optional<BlockId> executed(const GuestPosition& position);

    const TranslationCounters& counters() const { return counters_; }

  private:
    static constexpr std::uint32_t block_limit = 128;  // instructions
    // More than any chain of blocks, or a superblock with its exits, needs.
    static constexpr std::size_t piece_room_bytes = CodeCache::max_appended_bytes;

    struct Block {
        GuestAddress start;
        GuestAddress end;
        std::uint8_t* entry = nullptr;
        const std::uint8_t* indirect_entry = nullptr;
        const std::uint8_t* code_end = nullptr;
        const std::uint8_t* body = nullptr;  // behind the announcement, if there is one
        BlockId id = 0;
        std::optional<BlockId> before;     // in a superblock: the sequence before this block
        std::uint32_t words_before = 0;    // trace words of that sequence, without the id
        std::uint32_t first_position = 0;  // index into positions_
        std::uint32_t instructions = 0;
        TraceLevel level = TraceLevel::blocks;
        bool retired = false;  // no branch is linked to it from now on
    };
    // Where the code of one instruction begins.
    struct Position {
        std::uint16_t host_offset;   // from the block's entry
        std::uint16_t guest_offset;  // from the block's start
        std::uint16_t words_before;  // trace words of the block before this instruction
        std::uint16_t own_words;     // trace words that it pushes first
        Recovery recovery;
    };
    struct DirectExit {
        std::uint8_t* displacement;  // the 32 bits to patch
        GuestAddress target;
        TraceLevel level;
        std::uint32_t next;  // index of the next exit to the same target, or no_exit
    };
    static constexpr std::uint32_t no_exit = ~std::uint32_t{0};
    struct PendingStub {
        std::uint8_t* displacement;
        std::uint32_t exit;
    };
    struct CodePage {
        std::vector<std::uint32_t> blocks;
        std::uint64_t file_identity = 0;  // 0 unless it is a file mapping that nobody can write to
        std::uint64_t content_hash = 0;
    };
    // A block during its translation. Reused for the next block, to keep its memory.
    struct Draft {
        GuestAddress start;
        GuestAddress end;
        std::vector<Instruction> instructions;  // including the terminator, if there is one
        std::vector<ValueSlot> slots;
        std::vector<ReferenceSlot> references;  // at TraceLevel::references, instead of slots
        std::uint32_t words = 0;                // trace words that the slots take
        Terminator terminator = Terminator::none;
        std::optional<VdsoFunction> vdso;
        bool instrumented = false;  // whether the first instruction is
        std::uint8_t* entry = nullptr;

        const Instruction& last() const { return instructions.back(); }
        GuestAddress target() const;
    };

    // A place from which to translate ahead.
    struct AheadStart {
        GuestAddress start;
        TraceLevel level;
        bool indirect;  // whether indirect branches go there
    };
    struct Ahead {
        std::deque<AheadStart> queue;
        std::size_t exits = 0, blocks = 0;  // those before have their neighbours queued
        std::size_t code_bytes = 0;
        bool under_way = false;
        std::optional<GuestAddress> constant_page;  // the last one that was found constant
    };
    // translate_ahead() may fill at most the 1 / max_ahead_share of code memory and tables.
    static constexpr std::size_t max_ahead_share = 4;

    // An exit from the middle of a superblock.
    struct SideExit {
        std::uint8_t* displacement;
        BlockId executed;                    // the sequence before the exit
        std::optional<GuestAddress> target;  // nothing: the target is in scratch_a
    };

    const Block* lookup(TraceLevel level, GuestAddress address) const;
    void put_first(std::span<const GuestAddress> roots, BurstLevels bursts);
    std::vector<AheadStart> take_neighbours(BurstLevels ran);
    bool is_filled_ahead() const;
    bool is_constant(GuestAddress address);
    void enlist(std::uint32_t block);
    void drop_exits(std::size_t from);
    bool is_retired(const DirectExit& exit) const;
    const Block* translate(TraceLevel level, GuestAddress start, bool indirect);
    bool draft_block(GuestAddress start, std::uint32_t limit);
    bool needs_exit(const Instruction& instruction) const;
    void emit_awaited(CodeBuffer& out);
    bool is_awaited(GuestAddress address) const { return awaited_ && awaited_->cpu.rip == address; }
    void retire_around(GuestAddress address);
    std::span<const std::byte> copy_code(GuestAddress from, std::span<std::byte> to) const;
    bool is_nondeterministic(const Instruction& instruction) const;
    bool flags_live_at_start() const;
    // Superblocks; see translator_superblock.cc.
    std::vector<Draft> draft_parts(TraceLevel level, std::span<const BlockId> blocks);
    bool emit_parts(TraceLevel level, const std::vector<Draft>& parts,
                    std::span<const BlockId> blocks, BlockId shortest, CodeBuffer& out);
    bool emit_transition(GuestAddress next, BlockId executed, CodeBuffer& out);
    bool emit_indirect_transition(GuestAddress next, BlockId executed, CodeBuffer& out);
    void emit_side_exits(TraceLevel level, CodeBuffer& out);
    void redirect(TraceLevel level, GuestAddress start, std::uint32_t from, std::uint32_t to);
    // Appends the drafted block; nothing if the block tables are full.
    std::optional<std::uint32_t> emit_block(TraceLevel level, bool indirect, CodeBuffer& out);
    void emit_indirect_check(CodeBuffer& out);
    static std::uint8_t* emit_guard(GuestAddress expected, CodeBuffer& out);
    void emit_record(TraceLevel level, BlockId id, CodeBuffer& out);
    // Makes the probe of the newest record reach to the record's end.
    void set_probe(std::uint32_t value_words);
    void emit_body(TraceLevel level, CodeBuffer& out);
    // Appends the words of an instruction's references; see translator_references.cc.
    void emit_references(const Instruction& in, std::size_t index, CodeBuffer& out);
    void add_reference(const Instruction& in, std::size_t index, const MemoryReference& reference,
                       CodeBuffer& out);
    void emit_values(const Instruction& in, const Relocated& relocated, CodeBuffer& out);
    void add_slot(const Instruction& in, const ZydisDecodedOperand& written,
                  const std::optional<KnownValue>& value, const Relocated& relocated,
                  CodeBuffer& out);
    void emit_terminator(TraceLevel level, BlockId id, CodeBuffer& out);
    void emit_exit(ExitReason reason, std::uint32_t info, CodeBuffer& out);
    // Adds a direct branch to `target` whose displacement is at `displacement`. It is linked at
    // once if the target is translated, else to a stub.
    void add_exit(TraceLevel level, std::uint8_t* displacement, GuestAddress target);
    // Appends an unconditional branch to `target`, as add_exit() links it.
    void emit_branch(TraceLevel level, GuestAddress target, CodeBuffer& out);
    // The address whose code is best placed right behind the drafted block; nothing if there is
    // none.
    std::optional<GuestAddress> follow() const;
    void emit_chain(TraceLevel level, CodeBuffer& out);
    void emit_pending_stubs(CodeBuffer& out);
    void remember_pages(std::uint32_t block);
    std::optional<BlockId> truncated(std::uint32_t block, std::uint32_t instructions);
    std::uint64_t file_identity(GuestAddress page) const;
    std::uint64_t content_hash(GuestAddress page);
    bool still_valid(GuestAddress page, const CodePage& code);
    void retire(std::uint32_t block);

    CodeCache& cache_;
    GuestMemory& memory_;
    BlockTables& tables_;
    VdsoEntries vdso_;
    Nondeterminism nondeterminism_ = Nondeterminism::native;
    // The code that one_nondeterministic() has made.
    std::map<std::pair<TraceLevel, GuestAddress>, const std::uint8_t*> executed_natively_;
    std::unordered_map<GuestAddress, std::uint32_t> by_start_[trace_levels];
    std::vector<Block> blocks_;  // in the order of their code
    std::vector<Position> positions_;
    std::vector<DirectExit> exits_;
    std::unordered_map<GuestAddress, std::uint32_t> exits_to_[trace_levels];  // newest, by target
    Ahead ahead_;
    std::vector<PendingStub> pending_;
    std::vector<SideExit> side_exits_;
    Draft draft_;
    ValueTracker known_;                          // values that are known where code is appended
    AddressTracker addresses_;                    // addresses that are known there
    std::uint8_t* probe_displacement_ = nullptr;  // in the newest record
    bool has_superblocks_ = false;
    bool instruments_accesses_ = false;
    ProbeWatch* probes_ = nullptr;
    PythonWatch* python_ = nullptr;
    RegionWatch* regions_ = nullptr;
    StackWatch* stacks_ = nullptr;
    const AwaitedState* awaited_ = nullptr;
    struct AwaitedExit {
        const std::uint8_t* exit = nullptr;
        const std::uint8_t* behind = nullptr;
    };
    std::vector<AwaitedExit> awaited_exits_;
    std::unordered_map<GuestAddress, CodePage> pages_;
    TranslationCounters counters_;
};

}  // namespace shadowprof
