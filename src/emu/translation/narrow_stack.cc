#include "emu/translation/narrow_stack.h"

#include "decoder/gpr_numbers.h"
#include "emu/translation/instruction_bytes.h"
#include "emu/translation/operand_code.h"

namespace shadowprof {
namespace {

using gpr::rbp, gpr::rsp;
constexpr std::uint8_t load_opcode = 0x8b, store_opcode = 0x89;

// mov segment:[base + displacement], reg16, or the load, by `opcode`.
void emit_word(std::uint8_t opcode, std::uint8_t reg, std::uint8_t base, std::int8_t displacement,
               CodeBuffer& out, std::uint8_t segment = 0x65) {
    out.bytes({segment, 0x66, CodeBuffer::rex(false, reg, 0, base), opcode,
               CodeBuffer::modrm(1, reg, base), static_cast<std::uint8_t>(displacement)});
}

// mov to16, from16
void emit_word_move(std::uint8_t to, std::uint8_t from, CodeBuffer& out) {
    out.bytes(
        {0x66, CodeBuffer::rex(false, from, 0, to), store_opcode, CodeBuffer::modrm(3, from, to)});
}

void emit_push16(std::uint8_t host_reg, CodeBuffer& out) {
    emit_word(store_opcode, host_reg, host::guest_rsp, -2, out);
    out.lea(host::guest_rsp, host::guest_rsp, -2);
}

Relocated push(const Instruction& in, CodeBuffer& out) {
    const auto& operand = in.operands()[0];
    if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        out.bytes({0x65, 0x66, 0x41, 0xc7, 0x41, 0xfe});  // mov word gs:[r9 - 2], immediate
        out.value(static_cast<std::int16_t>(operand.imm.value.s));
        out.lea(host::guest_rsp, host::guest_rsp, -2);
        return translated;
    }
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
        if (!emit_operand_address(in, out)) return untranslatable;
        emit_word(load_opcode, host::scratch_a, host::scratch_a, 0, out,
                  host_segment(operand, out));
        emit_push16(host::scratch_a, out);
        return translated;
    }
    if (!is_gpr(operand.reg.value)) return untranslatable;
    const auto guest = gpr_number(operand.reg.value);
    if (lives_in_context(guest)) out.load(host::scratch_a, gpr_slot(guest));
    emit_push16(guest == rsp              ? host::guest_rsp
                : lives_in_context(guest) ? host::scratch_a
                                          : guest,
                out);
    return translated;
}

Relocated pop(const Instruction& in, CodeBuffer& out) {
    const auto& operand = in.operands()[0];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
        if (!emit_pop_address(in, 2, out)) return untranslatable;
        emit_word(load_opcode, host::scratch_b, host::guest_rsp, 0, out);
        emit_word(store_opcode, host::scratch_b, host::scratch_a, 0, out,
                  host_segment(operand, out));
        out.lea(host::guest_rsp, host::guest_rsp, 2);
        return translated;
    }
    if (!is_gpr(operand.reg.value)) return untranslatable;
    const auto guest = gpr_number(operand.reg.value);
    if (lives_in_context(guest)) out.load(host::scratch_a, gpr_slot(guest));
    const auto into = lives_in_context(guest) || guest == rsp ? host::scratch_a : guest;
    emit_word(load_opcode, into, host::guest_rsp, 0, out);
    out.lea(host::guest_rsp, host::guest_rsp, 2);
    if (guest == rsp) emit_word_move(host::guest_rsp, into, out);
    if (lives_in_context(guest)) out.store(gpr_slot(guest), into);
    return {.ok = true,
            .recovery = Recovery::none,
            .context_home = {host::scratch_a, host::scratch_a, host::scratch_a}};
}

Relocated leave(CodeBuffer& out) {
    emit_word(load_opcode, host::scratch_a, rbp, 0, out);
    out.lea(host::guest_rsp, rbp, 2);
    emit_word_move(rbp, host::scratch_a, out);
    return translated;
}

}  // namespace

std::optional<Relocated> translate_narrow_stack(const Instruction& in, CodeBuffer& out) {
    switch (in.mnemonic()) {
        case ZYDIS_MNEMONIC_PUSH:
            return push(in, out);
        case ZYDIS_MNEMONIC_POP:
            return pop(in, out);
        case ZYDIS_MNEMONIC_PUSHF:
            emit_flags_to_scratch(out);
            emit_push16(host::scratch_a, out);
            return translated;
        case ZYDIS_MNEMONIC_POPF:
            emit_word(load_opcode, host::scratch_a, host::guest_rsp, 0, out);
            emit_flags_from_scratch(true, out);
            out.lea(host::guest_rsp, host::guest_rsp, 2);
            return translated;
        case ZYDIS_MNEMONIC_LEAVE:
            return leave(out);
        case ZYDIS_MNEMONIC_ENTER:
            return untranslatable;
        default:
            return std::nullopt;
    }
}

}  // namespace shadowprof
