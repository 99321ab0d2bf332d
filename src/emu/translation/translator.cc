#include "emu/translation/translator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/stopwatch.h"
#include "decoder/client_request.h"

namespace shadowprof {
namespace {

// How many blocks are placed behind each other in one go, so that falling through needs no jump.
constexpr std::size_t chain_limit = 6;

std::uint64_t hash_bytes(std::span<const std::byte> bytes) {
    return std::hash<std::string_view>{}(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Terminator terminator_of(Flow flow) {
    switch (flow) {
        case Flow::next:
            return Terminator::none;
        case Flow::conditional:
            return Terminator::conditional;
        case Flow::jump:
            return Terminator::jump;
        case Flow::indirect_jump:
            return Terminator::indirect_jump;
        case Flow::call:
            return Terminator::call;
        case Flow::indirect_call:
            return Terminator::indirect_call;
        case Flow::ret:
            return Terminator::ret;
        case Flow::syscall:
            return Terminator::syscall;
        case Flow::other:
            return Terminator::single_stepped;
    }
    return Terminator::single_stepped;
}

}  // namespace

const Translator::Block* Translator::lookup(TraceLevel level, GuestAddress address) const {
    const auto& map = by_start_[static_cast<std::size_t>(level)];
    const auto it = map.find(address);
    return it == map.end() ? nullptr : &blocks_[it->second];
}

const std::uint8_t* Translator::entry_for(TraceLevel level, GuestAddress address) {
    const auto* block = lookup(level, address);
    if (!block) block = translate(level, address, false);
    return block ? block->entry : nullptr;
}

const std::uint8_t* Translator::indirect_entry_for(TraceLevel level, GuestAddress address) {
    const auto* block = lookup(level, address);
    if (!block) block = translate(level, address, true);
    if (!block) return nullptr;
    if (!block->indirect_entry && draft_block(address, block_limit)) {
        auto out = cache_.open();
        if (out.room_bytes() < piece_room_bytes) return block->entry;
        blocks_[static_cast<std::size_t>(block - blocks_.data())].indirect_entry = out.position();
        emit_indirect_check(out);
        out.jump(block->entry);
        cache_.commit(out);
    }
    if (block->indirect_entry) cache_.indirect_targets().set(level, address, block->indirect_entry);
    return block->entry;
}

const Translator::Block* Translator::translate(TraceLevel level, GuestAddress start,
                                               bool indirect) {
    Stopwatch stopwatch(counters_.nanoseconds);
    if (tables_.full() || !draft_block(start, block_limit)) return nullptr;
    if (cache_.open().room_bytes() < piece_room_bytes) clear();
    auto out = cache_.open();
    const auto first = emit_block(level, indirect, out);
    if (!first) {
        pending_.clear();
        return nullptr;
    }
    enlist(*first);
    emit_chain(level, out);
    emit_pending_stubs(out);
    cache_.commit(out);
    return &blocks_[*first];
}

// Appends what follows the drafted block: code of its successors up to one that is translated
// already, then a jump to that, or an exit.
void Translator::emit_chain(TraceLevel level, CodeBuffer& out) {
    for (std::size_t n = 1; auto next = follow(); ++n) {
        const bool goes_on =
            n < chain_limit && !lookup(level, *next) && draft_block(*next, block_limit);
        const auto index = goes_on ? emit_block(level, false, out) : std::nullopt;
        if (!index) return emit_branch(level, *next, out);
        enlist(*index);
    }
}

// From now on lookup() finds the block, and direct branches go there.
void Translator::enlist(std::uint32_t index) {
    const auto& block = blocks_[index];
    const auto level = static_cast<std::size_t>(block.level);
    by_start_[level][block.start] = index;
    remember_pages(index);
    const auto newest = exits_to_[level].find(block.start);
    if (newest == exits_to_[level].end()) return;
    // Unlinks exits of retired blocks here: code that changes often leaves one for each version.
    for (auto* link = &newest->second; *link != no_exit;) {
        auto& exit = exits_[*link];
        if (is_retired(exit)) {
            *link = exit.next;
            continue;
        }
        patch_branch(exit.displacement, block.entry);
        link = &exit.next;
    }
}

// Whether the exit lies in a retired block's code, or in the stubs behind it.
bool Translator::is_retired(const DirectExit& exit) const {
    const auto behind = std::upper_bound(
        blocks_.begin(), blocks_.end(), exit.displacement,
        [](const std::uint8_t* at, const Block& block) { return at < block.entry; });
    return behind != blocks_.begin() && std::prev(behind)->retired;
}

const std::uint8_t* Translator::one_instruction(TraceLevel level, GuestAddress address) {
    if (tables_.full() || !draft_block(address, 1)) return nullptr;
    if (cache_.open().room_bytes() < piece_room_bytes) clear();
    auto out = cache_.open();
    const auto index = emit_block(level, false, out);
    if (!index) return nullptr;
    if (const auto next = follow()) emit_branch(level, *next, out);
    emit_pending_stubs(out);
    cache_.commit(out);
    blocks_[*index].retired = true;
    return blocks_[*index].entry;
}

const std::uint8_t* Translator::one_nondeterministic(TraceLevel level, GuestAddress address) {
    const auto known = executed_natively_.find({level, address});
    if (known != executed_natively_.end()) return known->second;
    const auto in = decode_at(address);
    if (!in || !is_nondeterministic(*in)) return nullptr;
    const auto manner = std::exchange(nondeterminism_, Nondeterminism::native);
    const auto* entry = one_instruction(level, address);
    nondeterminism_ = manner;
    if (!entry || draft_.terminator == Terminator::single_stepped) return nullptr;
    executed_natively_[{level, address}] = entry;
    return entry;
}

bool Translator::is_nondeterministic(const Instruction& instruction) const {
    return instruction.is_nondeterministic() ||
           (std::ranges::equal(instruction.bytes(), client_request_last()) &&
            makes_request(instruction.address()));
}

bool Translator::makes_request(GuestAddress address) const {
    const GuestAddress start{address.value - client_request_preamble_bytes};
    std::array<std::byte, client_request_code.size()> code;
    return is_client_request(copy_code(start, code));
}

bool Translator::draft_block(GuestAddress start, std::uint32_t limit) {
    draft_.instructions.clear();
    draft_.start = draft_.end = start;
    draft_.vdso.reset();
    draft_.instrumented = false;
    draft_.terminator = Terminator::none;
    if (const auto it = vdso_.find(start); it != vdso_.end()) {
        draft_.vdso = it->second;
        draft_.terminator = Terminator::ret;
        draft_.end = start + 1;
        return true;
    }
    while (draft_.instructions.size() < limit) {
        if (ahead_.under_way && !is_constant(draft_.end)) break;
        auto in = decode_at(draft_.end);
        if (!in) break;
        if (ahead_.under_way && !is_constant(in->next() - 1)) break;
        const bool given_up =
            nondeterminism_ == Nondeterminism::single_stepped && is_nondeterministic(*in);
        const auto terminator = given_up ? Terminator::single_stepped : terminator_of(in->flow());
        // A single-stepped instruction is alone in its block, as the state before it must be
        // precise.
        if (terminator == Terminator::single_stepped && !draft_.instructions.empty()) break;
        if (needs_exit(*in)) {
            if (!draft_.instructions.empty()) break;
            draft_.instrumented = true;
        }
        draft_.instructions.push_back(*in);
        draft_.end = in->next();
        draft_.terminator = terminator;
        if (terminator != Terminator::none) break;
    }
    return !draft_.instructions.empty();
}

bool Translator::needs_exit(const Instruction& instruction) const {
    if (instruments_accesses_) return instruction.accesses_memory();
    const bool is_probed = probes_ && probes_->is_probed(instruction);
    return is_probed || (regions_ && regions_->watches(instruction)) ||
           (python_ && python_->watches(instruction.address())) ||
           (stacks_ && stacks_->watches(instruction));
}

void Translator::instrument_probed(ProbeWatch* probes) {
    if (probes != probes_) clear();
    probes_ = probes;
}

void Translator::instrument_accesses(bool is_instrumented) {
    if (is_instrumented != instruments_accesses_) clear();
    instruments_accesses_ = is_instrumented;
}

void Translator::await(const AwaitedState* state) {
    const auto* last = std::exchange(awaited_, state);
    if (last) retire_around(last->cpu.rip);
    if (state) retire_around(state->cpu.rip);
}

// Retires all code that contains the instruction at `address`.
void Translator::retire_around(GuestAddress address) {
    const auto page = pages_.find(address.page());
    if (page == pages_.end()) return;
    // Each retired block needs a stub.
    const auto& heads = page->second.blocks;
    if (cache_.open().room_bytes() < piece_room_bytes / 2 + 16 * heads.size()) return clear();
    const auto holds = [&](std::uint32_t head) {
        auto part = head;
        do {
            if (blocks_[part].start <= address && address < blocks_[part].end) return true;
        } while (++part < blocks_.size() && blocks_[part].before);
        return false;
    };
    for (const auto head : heads)
        if (!blocks_[head].retired && holds(head)) retire(head);
}

std::optional<Instruction> Translator::decode_at(GuestAddress address) {
    auto bytes = memory_.executable_bytes(address);
    if (bytes.size() >= Instruction::max_length)
        return Instruction::decode(bytes.first(Instruction::max_length), address);
    std::array<std::byte, Instruction::max_length> joined;
    return Instruction::decode(copy_code(address, joined), address);
}

// Copies code from up to two pages. Returns as much of `to` as there is.
std::span<const std::byte> Translator::copy_code(GuestAddress from, std::span<std::byte> to) const {
    std::size_t size = 0;
    for (int page = 0; page < 2 && size < to.size(); ++page) {
        const auto bytes = memory_.executable_bytes(from + size);
        const auto more = bytes.first(std::min(bytes.size(), to.size() - size));
        if (more.empty()) break;
        std::ranges::copy(more, to.begin() + static_cast<std::ptrdiff_t>(size));
        size += more.size();
    }
    return to.first(size);
}

std::optional<GuestAddress> Translator::follow() const {
    switch (draft_.terminator) {
        case Terminator::none:
        case Terminator::conditional:
            return draft_.end;
        case Terminator::jump:
            return draft_.last().branch_target();
        default:
            return std::nullopt;
    }
}

void Translator::add_exit(TraceLevel level, std::uint8_t* displacement, GuestAddress target) {
    if (const auto* existing = lookup(level, target))
        patch_branch(displacement, existing->entry);
    else
        pending_.push_back({displacement, static_cast<std::uint32_t>(exits_.size())});
    auto [newest, is_first] =
        exits_to_[static_cast<std::size_t>(level)].try_emplace(target, no_exit);
    exits_.push_back({displacement, target, level, newest->second});
    newest->second = static_cast<std::uint32_t>(exits_.size() - 1);
}

// Drops the exits that were added last, down to `from`.
void Translator::drop_exits(std::size_t from) {
    for (; exits_.size() > from; exits_.pop_back()) {
        const auto& last = exits_.back();
        auto& by_target = exits_to_[static_cast<std::size_t>(last.level)];
        if (last.next == no_exit)
            by_target.erase(last.target);
        else
            by_target[last.target] = last.next;
    }
}

void Translator::emit_branch(TraceLevel level, GuestAddress target, CodeBuffer& out) {
    out.bytes({0xe9});
    out.value(std::int32_t{0});
    add_exit(level, out.position() - 4, target);
}

void Translator::emit_pending_stubs(CodeBuffer& out) {
    for (const auto& stub : pending_) {
        const auto& exit = exits_[stub.exit];
        if (const auto* block = lookup(exit.level, exit.target)) {
            patch_branch(stub.displacement, block->entry);
            continue;
        }
        patch_branch(stub.displacement, out.position());
        emit_exit(ExitReason::direct_branch, stub.exit, out);
    }
    pending_.clear();
}

void Translator::link(std::uint32_t exit, const std::uint8_t* entry) {
    patch_branch(exits_[exit].displacement, entry);
}

void Translator::forward(std::uint32_t block, const std::uint8_t* entry) {
    patch_branch(blocks_[block].entry + 1, entry);
}

void Translator::remember_pages(std::uint32_t index) {
    const auto& block = blocks_[index];
    if (vdso_.contains(block.start)) return;
    for (auto page = block.start.page(); page < block.end; page = page + page_bytes) {
        auto& code = pages_[page];
        if (code.blocks.empty()) {
            code.file_identity = file_identity(page);
            if (!code.file_identity) code.content_hash = content_hash(page);
        }
        code.blocks.push_back(index);
        memory_.watch_code_page(page);
    }
}

// Identifies a page of a file mapping that nobody can write to; 0 for any other page.
std::uint64_t Translator::file_identity(GuestAddress page) const {
    const auto* m = memory_.find(page);
    if (!m || m->writable || m->shared || !m->executable) return 0;
    if (m->name == "[vdso]") return 1;
    if (!m->is_file()) return 0;
    const std::array<std::uint64_t, 3> key = {m->device, m->inode,
                                              m->file_offset + (page - m->start)};
    return hash_bytes(std::as_bytes(std::span(key))) | 2;
}

std::uint64_t Translator::content_hash(GuestAddress page) {
    return hash_bytes(memory_.readable_bytes(page));
}

bool Translator::still_valid(GuestAddress page, const CodePage& code) {
    const auto identity = file_identity(page);
    if (identity || code.file_identity) return identity == code.file_identity;
    const auto bytes = memory_.executable_bytes(page);
    if (bytes.empty() || hash_bytes(bytes) != code.content_hash) return false;
    memory_.watch_code_page(page);
    return true;
}

void Translator::begin_sample(VdsoEntries vdso, Nondeterminism nondeterminism, bool same_files) {
    if (vdso != vdso_ || nondeterminism != nondeterminism_) clear();
    vdso_ = std::move(vdso);
    nondeterminism_ = nondeterminism;
    std::vector<GuestAddress> gone;
    for (const auto& [page, code] : pages_)
        if (!(same_files && code.file_identity) && !still_valid(page, code)) gone.push_back(page);
    for (auto page : gone) retire_range(page, page + page_bytes);
}

void Translator::retire_range(GuestAddress start, GuestAddress end) {
    std::erase_if(executed_natively_, [&](const auto& entry) {
        const auto at = entry.first.second;
        return start < at + Instruction::max_length && at < end;
    });
    // Each retired block needs a stub.
    if (cache_.open().room_bytes() < piece_room_bytes / 2 + 16 * blocks_.size()) return clear();
    const auto retire_page = [&](const CodePage& code) {
        for (auto block : code.blocks)
            if (!blocks_[block].retired) retire(block);
    };
    std::erase_if(pages_, [&](const auto& entry) {
        if (entry.first + page_bytes <= start || end <= entry.first) return false;
        retire_page(entry.second);
        return true;
    });
}

// From now on, entering the block exits with ExitReason::retired_block.
void Translator::retire(std::uint32_t index) {
    auto& block = blocks_[index];
    block.retired = true;
    ++counters_.retired_blocks;
    by_start_[static_cast<std::size_t>(block.level)].erase(block.start);
    cache_.indirect_targets().forget(block.level, block.start);
    auto out = cache_.open();
    auto* stub = out.position();
    emit_exit(ExitReason::retired_block, index, out);
    cache_.commit(out);
    *block.entry = 0xe9;
    patch_branch(block.entry + 1, stub);
}

void Translator::clear() {
    executed_natively_.clear();
    ++counters_.cache_clears;
    has_superblocks_ = false;
    cache_.clear();
    for (auto& map : by_start_) map.clear();
    blocks_.clear();
    positions_.clear();
    exits_.clear();
    awaited_exits_.clear();
    for (auto& map : exits_to_) map.clear();
    ahead_ = {};
    pages_.clear();
}

std::optional<GuestPosition> Translator::locate(std::uint64_t host_rip) const {
    const auto* at = reinterpret_cast<const std::uint8_t*>(host_rip);
    auto it = std::upper_bound(blocks_.begin(), blocks_.end(), at,
                               [](const std::uint8_t* a, const Block& b) { return a < b.entry; });
    if (it == blocks_.begin()) return std::nullopt;
    const Block& block = *--it;
    if (at >= block.code_end) return std::nullopt;
    GuestPosition result{.block = static_cast<std::uint32_t>(it - blocks_.begin()),
                         .before = block.before,
                         .address = block.start};
    const auto offset = at - block.entry;
    for (std::uint32_t i = 0; i < block.instructions; ++i) {
        const auto& position = positions_[block.first_position + i];
        if (position.host_offset > offset) break;
        result.address = block.start + position.guest_offset;
        result.instruction = i;
        result.words_before = block.words_before + position.words_before;
        result.own_words = position.own_words;
        result.recovery = position.recovery;
    }
    return result;
}

// The instruction has executed nothing yet, so it has pushed no words.
std::optional<GuestPosition> Translator::position_of_awaited(std::uint32_t place) const {
    auto position = locate(reinterpret_cast<std::uint64_t>(awaited_exits_[place].exit));
    if (position) position->own_words = 0;
    return position;
}

std::optional<BlockId> Translator::executed(const GuestPosition& position) {
    const auto cut = truncated(position.block, position.instruction);
    if (!cut || !position.before) return cut ? cut : position.before;
    const auto before = tables_.parts_of(tables_[*position.before]);
    std::vector<BlockId> parts(before.begin(), before.end());
    parts.push_back(*cut);
    const auto shortest = tables_.add_sequence(parts);
    return shortest ? *shortest + static_cast<BlockId>(before.size()) : *position.before;
}

// Adds a block that consists of the first `instructions` of another.
std::optional<BlockId> Translator::truncated(std::uint32_t index, std::uint32_t instructions) {
    const Block& block = blocks_[index];
    if (instructions == 0 || instructions >= block.instructions) return std::nullopt;
    const auto& left_at = positions_[block.first_position + instructions];
    const auto& last = positions_[block.first_position + instructions - 1];
    BlockInfo info = tables_[block.id];
    info.last = info.start + last.guest_offset;
    info.end = info.start + left_at.guest_offset;
    info.target = {};
    info.terminator = Terminator::none;
    info.instructions = instructions;
    info.value_words = left_at.words_before;
    const auto executed = [&](const auto& slots) {
        const auto left = std::find_if(slots.begin(), slots.end(), [&](const auto& slot) {
            return slot.instruction_offset >= left_at.guest_offset;
        });
        return slots.first(static_cast<std::size_t>(left - slots.begin()));
    };
    return info.level == TraceLevel::references
               ? tables_.add(info, executed(tables_.references_of(info)))
               : tables_.add(info, executed(tables_.slots_of(info)));
}

}  // namespace shadowprof
