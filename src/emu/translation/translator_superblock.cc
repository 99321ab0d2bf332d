// Superblocks: blocks that were seen to follow each other, translated in one piece with one record.
// Where control leaves a superblock early, the record's id is changed to say how far it came.
#include <algorithm>

#include "base/stopwatch.h"
#include "emu/translation/operand_code.h"
#include "emu/translation/translator.h"

namespace shadowprof {

bool Translator::form_superblock(std::span<const BlockId> blocks) {
    Stopwatch stopwatch(counters_.nanoseconds);
    const auto level = tables_[blocks[0]].level;
    const auto parts = draft_parts(level, blocks);
    if (parts.size() < 2 || cache_.open().room_bytes() < piece_room_bytes) return false;
    const auto shortest = tables_.add_sequence(blocks);
    if (!shortest) return false;
    const auto first = static_cast<std::uint32_t>(blocks_.size());
    const auto positions = positions_.size();
    const auto exits = exits_.size();
    const auto plain = by_start_[static_cast<std::size_t>(level)].at(parts[0].start);
    auto out = cache_.open();
    const bool done = emit_parts(level, parts, blocks, *shortest, out);
    if (done) {
        emit_side_exits(level, out);
        emit_pending_stubs(out);
        cache_.commit(out);
        redirect(level, parts[0].start, plain, first);
        has_superblocks_ = true;
    } else {
        by_start_[static_cast<std::size_t>(level)][parts[0].start] = plain;
        blocks_.resize(first);
        positions_.resize(positions);
        drop_exits(exits);
        pending_.clear();
    }
    side_exits_.clear();
    return done;
}

// Drafts the blocks; empty if one has changed since it was traced.
std::vector<Translator::Draft> Translator::draft_parts(TraceLevel level,
                                                       std::span<const BlockId> blocks) {
    std::vector<Draft> parts;
    for (auto id : blocks) {
        const BlockInfo& info = tables_[id];
        const Block* current = lookup(level, info.start);
        if (!current || current->id != id || !draft_block(info.start, block_limit) || draft_.vdso ||
            draft_.end != info.end || draft_.terminator != info.terminator)
            return {};
        parts.push_back(draft_);
    }
    return parts;
}

// False if that cannot be done; then the caller drops what was emitted.
bool Translator::emit_parts(TraceLevel level, const std::vector<Draft>& parts,
                            std::span<const BlockId> blocks, BlockId shortest, CodeBuffer& out) {
    const auto last = parts.size() - 1;
    const bool indirect = lookup(level, parts[0].start)->indirect_entry != nullptr;
    for (std::size_t i = 0; i <= last; ++i) {
        draft_ = parts[i];
        Block block{.start = draft_.start, .end = draft_.end, .id = blocks[i], .level = level};
        if (i == 0 && indirect) {
            block.indirect_entry = out.position();
            emit_indirect_check(out);
        }
        if (i > 0) {
            block.before = shortest + static_cast<BlockId>(i - 1);
            block.words_before = tables_[*block.before].value_words;
        }
        block.entry = draft_.entry = out.position();
        block.first_position = static_cast<std::uint32_t>(positions_.size());
        if (i == 0) emit_record(level, shortest + static_cast<BlockId>(last), out);
        emit_body(level, out);
        if (draft_.end != parts[i].end || draft_.words != tables_[blocks[i]].value_words)
            return false;
        block.instructions = static_cast<std::uint32_t>(draft_.instructions.size());
        counters_.instructions += block.instructions;
        blocks_.push_back(block);
        if (i == 0)
            by_start_[static_cast<std::size_t>(level)][block.start] =
                static_cast<std::uint32_t>(blocks_.size() - 1);
        if (i < last) {
            if (!emit_transition(parts[i + 1].start, shortest + static_cast<BlockId>(i), out))
                return false;
        } else {
            emit_terminator(level, blocks[i], out);
            if (draft_.terminator != parts[i].terminator) return false;
            if (const auto next = follow()) emit_branch(level, *next, out);
        }
        blocks_.back().code_end = out.position();
    }
    set_probe(tables_[shortest + static_cast<BlockId>(last)].value_words);
    return true;
}

// Appends what leads from the drafted block to the next one, with a side exit to anywhere else.
bool Translator::emit_transition(GuestAddress next, BlockId executed, CodeBuffer& out) {
    switch (draft_.terminator) {
        case Terminator::none:
            return next == draft_.end;
        case Terminator::jump:
            return next == draft_.target();
        case Terminator::call:
            emit_push_return_address(draft_.end, out);
            return next == draft_.target();
        case Terminator::conditional: {
            const auto condition = draft_.last().jcc_condition();
            const bool falls_through = next == draft_.end;
            if (!condition || (!falls_through && next != draft_.target())) return false;
            out.bytes({0x0f, static_cast<std::uint8_t>(0x80 | (*condition ^ !falls_through))});
            out.value(std::int32_t{0});
            side_exits_.push_back(
                {out.position() - 4, executed, falls_through ? draft_.target() : draft_.end});
            return true;
        }
        case Terminator::indirect_jump:
        case Terminator::indirect_call:
        case Terminator::ret:
            return emit_indirect_transition(next, executed, out);
        case Terminator::syscall:
        case Terminator::single_stepped:
            break;
    }
    return false;
}

bool Translator::emit_indirect_transition(GuestAddress next, BlockId executed, CodeBuffer& out) {
    const auto& in = draft_.last();
    if (draft_.terminator == Terminator::ret)
        emit_pop_return_address(in, out);
    else if (!emit_load_operand(in, in.operands()[0], out))
        return false;
    if (draft_.terminator == Terminator::indirect_call) emit_push_return_address(in.next(), out);
    // The guard keeps the flags, as the code at any other target may need them.
    side_exits_.push_back({emit_guard(next, out), executed, std::nullopt});
    return true;
}

void Translator::emit_side_exits(TraceLevel level, CodeBuffer& out) {
    for (const auto& exit : side_exits_) {
        patch_branch(exit.displacement, out.position());
        // mov dword [rsp + the values' bytes], id: its upper half is 0.
        out.bytes({0xc7, 0x84, 0x24});
        out.value(std::int32_t{8} * tables_[exit.executed].value_words);
        out.value(exit.executed);
        if (exit.target)
            emit_branch(level, *exit.target, out);
        else
            cache_.indirect_targets().emit_branch(level, out);
    }
}

// Makes everything that enters the block `from` enter the superblock `to`, which starts with it.
void Translator::redirect(TraceLevel level, GuestAddress start, std::uint32_t from,
                          std::uint32_t to) {
    const auto* entry = blocks_[to].entry;
    const auto& by_target = exits_to_[static_cast<std::size_t>(level)];
    const auto newest = by_target.find(start);
    for (auto exit = newest == by_target.end() ? no_exit : newest->second; exit != no_exit;
         exit = exits_[exit].next)
        patch_branch(exits_[exit].displacement, entry);
    *blocks_[from].entry = 0xe9;
    patch_branch(blocks_[from].entry + 1, entry);
    if (blocks_[to].indirect_entry)
        cache_.indirect_targets().set(level, start, blocks_[to].indirect_entry);
    for (auto part = to; part < blocks_.size(); ++part)
        for (auto page = blocks_[part].start.page(); page < blocks_[part].end;
             page = page + page_bytes) {
            auto& code = pages_[page].blocks;
            if (code.empty() || code.back() != to) code.push_back(to);
        }
}

}  // namespace shadowprof
