// Translates basic blocks, links them, and keeps them as long as the guest's code stays the same,
// across samples.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
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
#include "emu/watch/value_tracker.h"

namespace shadowprof {

struct TranslationCounters {
    std::uint64_t blocks = 0;
    std::uint64_t instructions = 0;
    std::uint64_t untranslatable = 0;  // instructions that are single-stepped on the replica
    std::uint64_t retired_blocks = 0;  // their code changed
    std::uint64_t cache_clears = 0;
    std::uint64_t nanoseconds = 0;
};

// Where in the guest a host address of translated code is.
struct GuestPosition {
    std::uint32_t block = 0;         // its index
    std::optional<BlockId> before;   // the sequence before it in the same record
    GuestAddress address;            // of the instruction
    std::uint32_t instruction = 0;   // its index in the block
    std::uint32_t words_before = 0;  // trace words of the record before it, less the id
    std::uint32_t own_words = 0;     // that it has pushed before it may fault
    Recovery recovery = Recovery::none;
};

// What is done with instructions whose result is not a function of the guest's state: RDTSC,
// RDRAND, CPUID and the like.
enum class Nondeterminism : std::uint8_t {
    native,          // executed where the guest is emulated
    single_stepped,  // treated like what cannot be translated
};

class Translator {
  public:
    using VdsoEntries = std::unordered_map<GuestAddress, VdsoFunction>;

    Translator(CodeCache& cache, GuestMemory& memory, BlockTables& tables)
        : cache_(cache), memory_(memory), tables_(tables) {}

    // Called when the guest memory shows a new snapshot: drops the code that is no longer there.
    // Code from a file mapping that nobody can write to is known by the file; other code is
    // compared by its content. `same_files`: the snapshot's mappings are those of the last one,
    // which did not change them.
    void begin_sample(VdsoEntries vdso, Nondeterminism nondeterminism, bool same_files = false);
    // The vDSO function that begins at `start`; it must be one.
    VdsoFunction vdso_function(GuestAddress start) const { return vdso_.at(start); }

    // Whether code is made so that it comes out with ExitReason::announced before each instruction
    // that accesses memory, which is then the first of its block. No superblocks may be formed
    // then.
    void announce_accesses(bool announces);
    // The same of instructions that `probes` names, where accesses are not announced; null: of
    // none. Superblocks may not hold blocks that announces() names. It must outlive its use.
    void announce_probed(ProbeWatch* probes);
    bool announces(GuestAddress block_start) const {
        return probes_ && !probes_->at(block_start).empty();
    }
    // From now on code comes out with ExitReason::awaited before the instruction at state.cpu.rip,
    // anywhere in a block, where `telling` registers have the state's sum; nothing: nowhere. So
    // blocks are what they are without it.
    void await(const AwaitedState* state);
    // Where the record is cut that is under way then, and where the code goes on.
    std::optional<GuestPosition> position_of_awaited(std::uint32_t place) const;
    const std::uint8_t* behind_awaited(std::uint32_t place) const {
        return awaited_places_[place].behind;
    }
    // Where a block goes on that came out so.
    GuestAddress block_start(std::uint32_t block) const { return blocks_[block].start; }
    const std::uint8_t* behind_announcement(std::uint32_t block) const {
        return blocks_[block].body;
    }

    // Host code for the block that starts at `address`; null if no instruction can be read there or
    // the block tables are full.
    const std::uint8_t* entry_for(TraceLevel level, GuestAddress address);
    // The same, and from now on indirect branches find it by themselves.
    const std::uint8_t* indirect_entry_for(TraceLevel level, GuestAddress address);
    // Host code for one single instruction at `address`, which is not kept: for an instruction that
    // changes the code that it is part of.
    const std::uint8_t* one_instruction(TraceLevel level, GuestAddress address);

    // Translates ahead of need: from `roots` on, and from what ran since the last call, along
    // direct branches, into calls and behind them, nearest first; at TraceLevel::blocks and, where
    // it pays, at the levels of `bursts`. Only code that file and protection say cannot change.
    // Before each piece `goes_on` is asked. True if there is more, with which the next call goes
    // on; false also when what was translated ahead fills its share of the memory.
    bool translate_ahead(std::span<const GuestAddress> roots, BurstLevels bursts,
                         const std::function<bool()>& goes_on);
    // Around it, and around superblocks that are made ahead.
    void begin_ahead() {
        ahead_.under_way = true;
        ahead_.constant_page.reset();
    }
    void end_ahead() { ahead_.under_way = false; }

    // The target of a direct branch that is not linked yet, and what links it.
    // Exits and blocks are numbered anew after clear(): compare counters().cache_clears.
    GuestAddress exit_target(std::uint32_t exit) const { return exits_[exit].target; }
    void link(std::uint32_t exit, const std::uint8_t* entry);
    // Where a retired block started; from now on whoever enters it goes to `entry`.
    GuestAddress retired_start(std::uint32_t block) const { return blocks_[block].start; }
    void forward(std::uint32_t block, const std::uint8_t* entry);

    // Retires all blocks with code in a range.
    void retire_range(GuestAddress start, GuestAddress end);
    void clear();

    // Translates blocks of one level that are executed one after the other once more, as a
    // superblock: one piece of code that leaves one record, whose value words must be few beside
    // TraceBuffer::guard_bytes. Whoever enters the first block goes there from now on. False if
    // that cannot be done, or is not what their instructions allow.
    bool form_superblock(std::span<const BlockId> blocks);

    // Forgets all code if there are superblocks: from now on each block leaves a record again.
    void drop_superblocks() {
        if (has_superblocks_) clear();
    }

    std::optional<GuestPosition> locate(std::uint64_t host_rip) const;
    // A block or sequence that is like what was executed of a record that was left at `position`;
    // nothing if that is nothing.
    std::optional<BlockId> executed(const GuestPosition& position);

    const TranslationCounters& counters() const { return counters_; }

  private:
    static constexpr std::uint32_t block_limit = 128;  // instructions
    // More than any chain of blocks, or a superblock with its exits, needs.
    static constexpr std::size_t piece_room_bytes = CodeCache::most_appended_bytes;

    struct Block {
        GuestAddress start;
        GuestAddress end;
        std::uint8_t* entry = nullptr;
        const std::uint8_t* indirect_entry = nullptr;
        const std::uint8_t* code_end = nullptr;
        const std::uint8_t* body = nullptr;  // behind the announcement, if there is one
        BlockId id = 0;
        std::optional<BlockId> before;     // in a superblock: the sequence before this block
        std::uint32_t words_before = 0;    // trace words of that sequence, less the id
        std::uint32_t first_position = 0;  // into positions_
        std::uint32_t instructions = 0;
        TraceLevel level = TraceLevel::blocks;
        bool retired = false;  // no branch is linked to it from now on
    };
    // Where the code of one instruction begins.
    struct Position {
        std::uint16_t host_offset;   // from the block's entry
        std::uint16_t guest_offset;  // from the block's start
        std::uint16_t words_before;  // trace words of the block before this instruction
        std::uint16_t own_words;     // that it pushes first of all
        Recovery recovery;
    };
    struct DirectExit {
        std::uint8_t* displacement;  // the 32 bits to patch
        GuestAddress target;
        TraceLevel level;
        std::uint32_t next;  // to the same target; no_exit: the last
    };
    static constexpr std::uint32_t no_exit = ~std::uint32_t{0};
    struct PendingStub {
        std::uint8_t* displacement;
        std::uint32_t exit;
    };
    struct CodePage {
        std::vector<std::uint32_t> blocks;
        std::uint64_t file_identity = 0;  // 0: not a file mapping that nobody can write to
        std::uint64_t content_hash = 0;
    };
    // A block as it is being translated. Kept between blocks for its memory.
    struct Draft {
        GuestAddress start;
        GuestAddress end;
        std::vector<Instruction> instructions;  // with the terminator, if there is one
        std::vector<ValueSlot> slots;
        std::vector<ReferenceSlot> references;  // at TraceLevel::references, instead of slots
        std::uint32_t words = 0;                // of the slots
        Terminator terminator = Terminator::none;
        std::optional<VdsoFunction> vdso;
        bool announced = false;  // the first instruction is
        std::uint8_t* entry = nullptr;

        const Instruction& last() const { return instructions.back(); }
        GuestAddress target() const;
    };

    // Where to translate ahead.
    struct AheadStart {
        GuestAddress start;
        TraceLevel level;
        bool indirect;  // indirect branches go there
    };
    struct Ahead {
        std::deque<AheadStart> queue;
        std::size_t exits = 0, blocks = 0;  // whose neighbours are known
        std::size_t code_bytes = 0;
        bool under_way = false;
        std::optional<GuestAddress> constant_page;  // that was looked at last
    };
    // The most of code memory and tables that translate_ahead() may fill: one part in so many.
    static constexpr std::size_t most_ahead_share = 4;

    // A way out of the middle of a superblock.
    struct SideExit {
        std::uint8_t* displacement;
        BlockId executed;                    // the sequence before it
        std::optional<GuestAddress> target;  // nothing: it is in scratch_a
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
    bool is_announced(const Instruction& instruction) const;
    void emit_awaited(CodeBuffer& out);
    bool is_awaited(GuestAddress address) const { return awaited_ && awaited_->cpu.rip == address; }
    void retire_around(GuestAddress address);
    std::optional<Instruction> decode_at(GuestAddress address);
    bool flags_live_at_start() const;
    // A superblock; see translator_superblock.cc.
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
    // Has the probe of the record that was begun last reach the end of the record.
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
    // A direct branch to `target` whose displacement is at `displacement`: linked at once if the
    // target is translated, else by its stub.
    void add_exit(TraceLevel level, std::uint8_t* displacement, GuestAddress target);
    // An unconditional one.
    void emit_branch(TraceLevel level, GuestAddress target, CodeBuffer& out);
    // The address whose code is best placed right behind the drafted block.
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
    std::unordered_map<GuestAddress, std::uint32_t> by_start_[trace_levels];
    std::vector<Block> blocks_;  // in the order of their code
    std::vector<Position> positions_;
    std::vector<DirectExit> exits_;
    std::unordered_map<GuestAddress, std::uint32_t> exits_to_[trace_levels];  // the newest
    Ahead ahead_;
    std::vector<PendingStub> pending_;
    std::vector<SideExit> side_exits_;
    Draft draft_;
    ValueTracker known_;                          // what is known where code is appended
    AddressTracker addresses_;                    // the same
    std::uint8_t* probe_displacement_ = nullptr;  // of the record that was begun last
    bool has_superblocks_ = false;
    bool announces_accesses_ = false;
    ProbeWatch* probes_ = nullptr;
    const AwaitedState* awaited_ = nullptr;
    struct AwaitedPlace {
        const std::uint8_t* exit = nullptr;
        const std::uint8_t* behind = nullptr;
    };
    std::vector<AwaitedPlace> awaited_places_;
    std::unordered_map<GuestAddress, CodePage> pages_;
    TranslationCounters counters_;
};

}  // namespace shadowprof
