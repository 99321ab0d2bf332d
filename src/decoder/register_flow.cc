#include "decoder/register_flow.h"

#include "decoder/gpr_numbers.h"

namespace shadowprof {
namespace {

using gpr::rcx, gpr::rdi, gpr::rsi, gpr::rsp;

constexpr std::uint16_t bit(std::uint8_t gpr) {
    return static_cast<std::uint16_t>(1u << gpr);
}

std::uint16_t registers_of(const ZydisDecodedOperandMem& memory) {
    std::uint16_t mask = 0;
    if (is_gpr(memory.base)) mask |= bit(gpr_number(memory.base));
    if (is_gpr(memory.index)) mask |= bit(gpr_number(memory.index));
    return mask;
}

bool is_register(const ZydisDecodedOperand& operand) {
    return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && is_gpr(operand.reg.value);
}

bool is_wide_register(const ZydisDecodedOperand& operand) {
    return is_register(operand) && operand.size == 64;
}

// XOR and SUB of a register with itself.
bool is_zeroing(const Instruction& in) {
    if (in.mnemonic() != ZYDIS_MNEMONIC_XOR && in.mnemonic() != ZYDIS_MNEMONIC_SUB) return false;
    const auto operands = in.operands();
    return is_register(operands[0]) && is_register(operands[1]) &&
           operands[0].reg.value == operands[1].reg.value && operands[0].size >= 32;
}

bool is_moved_by_constant(const Instruction& in, const ZydisDecodedOperand& operand) {
    if (operand.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN) return false;
    const auto gpr = gpr_number(operand.reg.value);
    if (is_stack_instruction(in)) return gpr == rsp;
    return in.zydis().meta.category == ZYDIS_CATEGORY_STRINGOP &&
           (gpr == rsi || gpr == rdi || gpr == rcx);
}

// The whole destination register is written with a loaded value.
bool copies_memory(const Instruction& in) {
    const auto operands = in.operands();
    if (in.mnemonic() == ZYDIS_MNEMONIC_POP) return is_wide_register(operands[0]);
    return in.mnemonic() == ZYDIS_MNEMONIC_MOV && is_wide_register(operands[0]) &&
           operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY;
}

}  // namespace

bool is_stack_instruction(const Instruction& in) {
    switch (in.mnemonic()) {
        case ZYDIS_MNEMONIC_PUSH:
        case ZYDIS_MNEMONIC_PUSHF:
        case ZYDIS_MNEMONIC_PUSHFQ:
        case ZYDIS_MNEMONIC_POP:
        case ZYDIS_MNEMONIC_POPF:
        case ZYDIS_MNEMONIC_POPFQ:
        case ZYDIS_MNEMONIC_CALL:
        case ZYDIS_MNEMONIC_RET:
        case ZYDIS_MNEMONIC_LEAVE:
        case ZYDIS_MNEMONIC_ENTER:
            return true;
        default:
            return false;
    }
}

std::optional<std::int64_t> stack_move(const Instruction& in) {
    const std::int64_t bytes = in.zydis().operand_width == 16 ? 2 : 8;
    switch (in.mnemonic()) {
        case ZYDIS_MNEMONIC_PUSH:
        case ZYDIS_MNEMONIC_PUSHF:
        case ZYDIS_MNEMONIC_PUSHFQ:
        case ZYDIS_MNEMONIC_CALL:
            return -bytes;
        case ZYDIS_MNEMONIC_POP: {
            const auto& to = in.operands()[0];
            if (is_register(to) && gpr_number(to.reg.value) == rsp) return std::nullopt;
            return bytes;
        }
        case ZYDIS_MNEMONIC_POPF:
        case ZYDIS_MNEMONIC_POPFQ:
            return bytes;
        default:
            return std::nullopt;
    }
}

std::optional<RegisterSum> register_sum(const Instruction& in) {
    const auto operands = in.operands();
    if (operands.empty() || !is_wide_register(operands[0])) return std::nullopt;
    const auto to = gpr_number(operands[0].reg.value);
    const bool immediate = operands.size() > 1 && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    switch (in.mnemonic()) {
        case ZYDIS_MNEMONIC_MOV:
            if (!is_wide_register(operands[1])) return std::nullopt;
            return RegisterSum{to, gpr_number(operands[1].reg.value), 0};
        case ZYDIS_MNEMONIC_LEA: {
            const auto& memory = operands[1].mem;
            if (in.zydis().address_width != 64 || !is_gpr(memory.base) || is_gpr(memory.index))
                return std::nullopt;
            return RegisterSum{to, gpr_number(memory.base), memory.disp.value};
        }
        case ZYDIS_MNEMONIC_ADD:
            if (!immediate) return std::nullopt;
            return RegisterSum{to, to, operands[1].imm.value.s};
        case ZYDIS_MNEMONIC_SUB:
            if (!immediate) return std::nullopt;
            return RegisterSum{to, to, -operands[1].imm.value.s};
        case ZYDIS_MNEMONIC_INC:
            return RegisterSum{to, to, 1};
        case ZYDIS_MNEMONIC_DEC:
            return RegisterSum{to, to, -1};
        default:
            return std::nullopt;
    }
}

RegisterFlow register_flow(const Instruction& in) {
    RegisterFlow flow;
    for (const auto& operand : in.operands()) {
        if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN)
            flow.read |= registers_of(operand.mem);
        if (!is_register(operand) || is_moved_by_constant(in, operand)) continue;
        const bool written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
        const bool kept = written && (operand.size < 32 || in.may_keep_destination() ||
                                      (operand.actions & ZYDIS_OPERAND_ACTION_CONDWRITE));
        const auto reg = bit(gpr_number(operand.reg.value));
        if (written) flow.written |= reg;
        if (kept || (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ)) flow.read |= reg;
    }
    if (is_zeroing(in)) flow.read = 0;
    flow.copies = copies_memory(in) || register_sum(in).has_value();
    return flow;
}

}  // namespace shadowprof
