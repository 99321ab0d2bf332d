// The host code of one basic block.
#include <algorithm>
#include <cstring>

#include "decoder/gpr_numbers.h"
#include "decoder/result_type.h"
#include "emu/translation/operand_code.h"
#include "emu/translation/special.h"
#include "emu/translation/translator.h"
#include "emu/translation/x87_environment.h"

namespace shadowprof {
namespace {

using gpr::rsp;

// Whether a written register is recorded at TraceLevel::values: those that the instruction names,
// and RAX and RDX where they are implicit (MUL, DIV).
bool is_recorded(const ZydisDecodedOperand& operand) {
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER ||
        !(operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
        return false;
    const auto reg = operand.reg.value;
    const bool visible = operand.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN;
    if (is_gpr(reg)) {
        const auto number = gpr_number(reg);
        return !is_high_byte(reg) && number != rsp && (visible || number == 0 || number == 2);
    }
    const auto reg_class = ZydisRegisterGetClass(reg);
    return visible && reg_class >= ZYDIS_REGCLASS_XMM && reg_class <= ZYDIS_REGCLASS_ZMM;
}

bool stores_x87_environment(ZydisMnemonic mnemonic) {
    return mnemonic == ZYDIS_MNEMONIC_FNSTENV || mnemonic == ZYDIS_MNEMONIC_FNSAVE;
}

// Puts the x87 environment into the context. FNSTENV masks all exceptions.
void emit_x87_environment(CodeBuffer& out) {
    constexpr auto control = x87_environment_place + offsetof(X87Environment, control);
    out.context_bytes({0xd9, 0x35}, x87_environment_place);  // fnstenv
    out.context_bytes({0xd9, 0x2d}, control);                // fldcw
}

// Stores the low 8 bytes of a vector register, or 16, 32 or all 64, below RSP and moves RSP there.
void emit_push_vector(ZydisRegister reg, std::uint8_t width_bytes, bool vex, CodeBuffer& out) {
    const auto number = static_cast<std::uint8_t>(ZydisRegisterGetId(reg));
    const auto modrm = CodeBuffer::modrm(1, number, 4);
    const auto below = static_cast<std::uint8_t>(-width_bytes);
    const bool high = (number & 8) != 0;
    const std::uint8_t opcode = width_bytes == 8 ? 0x13 : 0x11;  // (v)movlps, (v)movups
    if (number >= 16 || width_bytes == 64) {
        // EVEX: its 8-bit displacement counts in units of the width.
        const auto p0 =
            static_cast<std::uint8_t>(0x61 | (high ? 0 : 0x80) | (number & 16 ? 0 : 0x10));
        const std::uint8_t length = width_bytes == 64 ? 2 : width_bytes == 32 ? 1 : 0;
        out.bytes({0x62, p0, 0x7c, static_cast<std::uint8_t>(0x08 | length << 5), opcode, modrm,
                   0x24, 0xff});
    } else if (vex || width_bytes == 32) {
        const auto payload =
            static_cast<std::uint8_t>((high ? 0 : 0x80) | 0x78 | (width_bytes == 32 ? 4 : 0));
        out.bytes({0xc5, payload, opcode, modrm, 0x24, below});
    } else {
        out.bytes({CodeBuffer::rex(false, number, 0, 0), 0x0f, opcode, modrm, 0x24, below});
    }
    out.bytes({0x48, 0x8d, 0x64, 0x24, below});  // lea rsp, [rsp - width]
}

std::uint8_t host_of(std::uint8_t guest, const Relocated& relocated, CodeBuffer& out) {
    if (!lives_in_context(guest)) return guest;
    if (const auto home = relocated.context_home[guest - 9u]) return home;
    out.load(host::scratch_a, gpr_slot(guest));
    return host::scratch_a;
}

}  // namespace

std::optional<std::uint32_t> Translator::emit_block(TraceLevel level, bool indirect,
                                                    CodeBuffer& out) {
    const auto* check = indirect ? out.position() : nullptr;
    if (indirect) emit_indirect_check(out);
    Block block{.start = draft_.start, .indirect_entry = check};
    block.entry = draft_.entry = out.position();
    block.first_position = static_cast<std::uint32_t>(positions_.size());
    block.level = level;
    block.id = tables_.size();
    if (draft_.instrumented) {
        emit_exit(ExitReason::instrumented, static_cast<std::uint32_t>(blocks_.size()), out);
        block.body = out.position();
    }
    emit_record(level, block.id, out);
    emit_body(level, out);
    emit_terminator(level, block.id, out);
    set_probe(draft_.words);
    block.end = draft_.end;
    block.code_end = out.position();
    block.instructions = static_cast<std::uint32_t>(draft_.instructions.size());

    const BlockInfo info{.start = draft_.start,
                         .last = draft_.vdso ? draft_.start : draft_.last().address(),
                         .end = draft_.end,
                         .target = draft_.target(),
                         .instructions = std::max(1u, block.instructions),
                         .value_words = static_cast<std::uint16_t>(draft_.words),
                         .terminator = draft_.terminator,
                         .level = level};
    const auto id = level == TraceLevel::references ? tables_.add(info, draft_.references)
                                                    : tables_.add(info, draft_.slots);
    if (!id) return std::nullopt;
    counters_.instructions += block.instructions;
    ++counters_.blocks;
    const auto index = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back(block);
    return index;
}

// Exits with ExitReason::awaited unless the telling registers show another state.
void Translator::emit_awaited(CodeBuffer& out) {
    const auto& telling = awaited_->telling;
    const auto first = emit_read_gpr(telling[0], host::scratch_a, out);
    out.lea_sum(host::scratch_a, first, emit_read_gpr(telling[1], host::scratch_b, out));
    out.lea_sum(host::scratch_a, host::scratch_a, emit_read_gpr(telling[2], host::scratch_b, out));
    auto* otherwise = emit_guard(GuestAddress{awaited_->telling_sum()}, out);
    const auto* exit = out.position();
    emit_exit(ExitReason::awaited, static_cast<std::uint32_t>(awaited_exits_.size()), out);
    patch_branch(otherwise, out.position());
    awaited_exits_.push_back({exit, out.position()});
}

// Checks that this block is at the guest address that an indirect branch wanted.
void Translator::emit_indirect_check(CodeBuffer& out) {
    const auto target = offsetof(ExecutionContext, target);
    if (!flags_live_at_start()) {
        out.move_imm(host::scratch_a, draft_.start.value);
        out.context_bytes({0x4c, 0x39, 0x15}, target);  // cmp [target], r10
        out.jump_if(0x5, cache_.miss_stub());           // jne
        return;
    }
    out.load(host::scratch_a, target);
    patch_branch(emit_guard(draft_.start, out), cache_.miss_stub());
}

// Branches away unless scratch_a is `expected`, and keeps the flags. Returns the branch's
// displacement. Uses scratch_b.
std::uint8_t* Translator::emit_guard(GuestAddress expected, CodeBuffer& out) {
    using gpr::rcx;
    out.move(host::scratch_b, rcx);
    out.move_imm(rcx, 0 - expected.value);
    out.lea_sum(rcx, rcx, host::scratch_a);
    out.bytes({0xe3, 0x08});  // jrcxz over the next two instructions
    out.move(rcx, host::scratch_b);
    out.bytes({0xe9});
    out.value(std::int32_t{0});
    auto* displacement = out.position() - 4;
    out.move(rcx, host::scratch_b);
    return displacement;
}

void Translator::emit_record(TraceLevel level, BlockId id, CodeBuffer& out) {
    probe_displacement_ = nullptr;
    if (level == TraceLevel::none) {
        // retire() writes a jump of five bytes over a block's beginning.
        out.bytes({0x0f, 0x1f, 0x44, 0x00, 0x00});
        return;
    }
    if (level != TraceLevel::blocks) {
        // Touches the lowest word of this record, so that a full buffer faults here and not within
        // the record.
        out.bytes({0x89, 0x84, 0x24});  // mov [rsp - size], eax
        probe_displacement_ = out.position();
        out.value(std::int32_t{0});
    }
    out.push_imm32(id);
}

void Translator::set_probe(std::uint32_t value_words) {
    if (!probe_displacement_) return;
    const auto below = -8 * static_cast<std::int32_t>(value_words + 1);
    std::memcpy(probe_displacement_, &below, sizeof below);
}

void Translator::emit_body(TraceLevel level, CodeBuffer& out) {
    auto& all = draft_.instructions;
    draft_.slots.clear();
    draft_.references.clear();
    draft_.words = 0;
    known_.begin();
    addresses_.begin();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& in = all[i];
        Position position{.host_offset = static_cast<std::uint16_t>(out.position() - draft_.entry),
                          .guest_offset = static_cast<std::uint16_t>(in.address() - draft_.start),
                          .words_before = static_cast<std::uint16_t>(draft_.words),
                          .own_words = 0,
                          .recovery = Recovery::none};
        auto before = out;
        if (is_awaited(in.address())) emit_awaited(out);
        // Behind emit_awaited(), as single-stepped instructions are awaited too.
        if (i == 0) before = out;
        const auto references_before = draft_.references.size();
        if (level == TraceLevel::references && draft_.terminator != Terminator::single_stepped) {
            emit_references(in, i, out);
            position.own_words = static_cast<std::uint16_t>(draft_.words - position.words_before);
        }
        if (in.flow() == Flow::next && draft_.terminator != Terminator::single_stepped) {
            auto relocated = translate_special(in, out);
            if (!relocated) relocated = relocate(in, out);
            if (!relocated->ok) {
                // The instruction gets its own block and is single-stepped.
                out = before;
                draft_.references.resize(references_before);
                draft_.words = position.words_before;
                position.own_words = 0;
                ++counters_.untranslatable;
                draft_.terminator = i ? Terminator::none : Terminator::single_stepped;
                all.erase(all.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(i, 1)),
                          all.end());
                draft_.end = draft_.last().next();
                if (i == 0) positions_.push_back(position);
                return;
            }
            position.recovery = relocated->recovery;
            if (level == TraceLevel::values) emit_values(in, *relocated, out);
        }
        positions_.push_back(position);
    }
}

void Translator::emit_values(const Instruction& in, const Relocated& relocated, CodeBuffer& out) {
    const auto result = known_.result_of(in);
    known_.forget_written(in);
    for (const auto& operand : in.operands()) {
        if (!is_recorded(operand)) continue;
        const bool is_first = &operand == in.operands().data();
        add_slot(in, operand, is_first ? result : std::nullopt, relocated, out);
    }
}

// `value`: the written value, as far as it is known.
void Translator::add_slot(const Instruction& in, const ZydisDecodedOperand& written,
                          const std::optional<KnownValue>& value, const Relocated& relocated,
                          CodeBuffer& out) {
    const auto reg = written.reg.value;
    const auto [type, width_bytes] = result_type(in, written);
    ValueSlot slot{.instruction_offset = static_cast<std::uint16_t>(in.address() - draft_.start),
                   .reg = static_cast<std::uint16_t>(reg),
                   .width_bytes = width_bytes,
                   .words = 0,
                   .type = type};
    if (const auto addend = value ? addend_of(*value, width_bytes) : std::nullopt) {
        slot.source = value->source;
        slot.addend = *addend;
        if (width_bytes >= 4) known_.set(gpr_number(reg), *value);
    } else if (is_gpr(reg)) {
        slot.words = 1;
        out.push(host_of(gpr_number(reg), relocated, out));
        known_.set_recorded(in, written, static_cast<std::uint16_t>(draft_.slots.size()));
    } else {
        slot.words = std::max<std::uint8_t>(width_bytes / 8, 1);
        emit_push_vector(reg, static_cast<std::uint8_t>(8 * slot.words),
                         in.zydis().encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY, out);
    }
    draft_.slots.push_back(slot);
    draft_.words += slot.words;
}

void Translator::emit_terminator(TraceLevel level, BlockId id, CodeBuffer& out) {
    if (draft_.vdso) {
        emit_exit(ExitReason::vdso_call, id, out);
        return;
    }
    const auto& in = draft_.last();
    switch (draft_.terminator) {
        case Terminator::none:
        case Terminator::jump:
            break;  // the successor's code is placed behind
        case Terminator::conditional:
            if (const auto condition = in.jcc_condition()) {
                out.bytes({0x0f, static_cast<std::uint8_t>(0x80 | *condition)});
            } else {
                // LOOP and JRCXZ have only short forms. Taken, they skip a jump over the jump to
                // their target.
                out.bytes(in.bytes().first(in.length() - 1));
                out.bytes({0x02, 0xeb, 0x05, 0xe9});
            }
            out.value(std::int32_t{0});
            add_exit(level, out.position() - 4, in.branch_target());
            break;
        case Terminator::call:
            emit_push_return_address(in.next(), out);
            out.bytes({0xe9});
            out.value(std::int32_t{0});
            add_exit(level, out.position() - 4, in.branch_target());
            break;
        case Terminator::indirect_jump:
        case Terminator::indirect_call: {
            const auto before = out;
            if (!emit_load_operand(in, in.operands()[0], out)) {
                out = before;
                draft_.terminator = Terminator::single_stepped;
                emit_exit(ExitReason::single_step, id, out);
                break;
            }
            if (draft_.terminator == Terminator::indirect_call)
                emit_push_return_address(in.next(), out);
            cache_.indirect_targets().emit_branch(level, out);
            break;
        }
        case Terminator::ret:
            emit_pop_return_address(in, out);
            cache_.indirect_targets().emit_branch(level, out);
            break;
        case Terminator::syscall:
            emit_exit(ExitReason::syscall, id, out);
            break;
        case Terminator::single_stepped:
            if (stores_x87_environment(in.mnemonic())) emit_x87_environment(out);
            emit_exit(ExitReason::single_step, id, out);
            break;
    }
}

void Translator::emit_exit(ExitReason reason, std::uint32_t info, CodeBuffer& out) {
    out.store_imm32(offsetof(ExecutionContext, exit_info), info);
    out.jump(cache_.exit_stub(reason));
}

// Whether code before the block's first instruction must leave the status flags alone.
bool Translator::flags_live_at_start() const {
    std::uint32_t unknown = status_flags;
    for (const auto& in : draft_.instructions) {
        if (in.flags_read() & unknown) return true;
        unknown &= ~in.flags_killed();
        if (!unknown) return false;
    }
    return true;
}

GuestAddress Translator::Draft::target() const {
    switch (terminator) {
        case Terminator::conditional:
        case Terminator::jump:
        case Terminator::call:
            return last().branch_target();
        default:
            return {};
    }
}

}  // namespace shadowprof
