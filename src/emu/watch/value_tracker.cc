#include "emu/watch/value_tracker.h"

#include "base/cpu_state.h"
#include "base/value_type.h"

namespace shadowprof {
namespace {

KnownValue constant(std::uint64_t value, std::uint8_t width_bytes) {
    return {.sum = low_bytes(value, width_bytes)};
}

std::optional<KnownValue> plus(std::optional<KnownValue> value, std::uint64_t addend) {
    if (!value) return std::nullopt;
    value->sum += addend;
    if (value->is_constant()) value->sum = low_bytes(value->sum, value->width_bytes);
    return value;
}

bool is_register(const ZydisDecodedOperand& operand) {
    return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && is_gpr(operand.reg.value);
}

bool is_same_register(const Instruction& in) {
    const auto operands = in.operands();
    return is_register(operands[1]) && operands[0].reg.value == operands[1].reg.value;
}

// Whether the whole register is written for all operands; a 32-bit result then clears the upper
// half.
bool always_writes(const Instruction& in, const ZydisDecodedOperand& operand) {
    if (in.zydis().meta.category == ZYDIS_CATEGORY_CMOV) return true;
    return !(operand.actions & ZYDIS_OPERAND_ACTION_CONDWRITE) && !in.may_keep_destination();
}

}  // namespace

std::optional<KnownValue> ValueTracker::result_of(const Instruction& in) const {
    if (in.operands().empty() || !is_register(in.operands()[0])) return std::nullopt;
    const auto operands = in.operands();
    const auto width_bytes = static_cast<std::uint8_t>(operands[0].size / 8);
    const bool immediate = operands.size() > 1 && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    if (in.mnemonic() == ZYDIS_MNEMONIC_MOV && immediate)
        return constant(operands[1].imm.value.u, width_bytes);
    if (width_bytes < 4) return std::nullopt;
    const auto before = read(operands[0].reg.value, width_bytes);
    switch (in.mnemonic()) {
        case ZYDIS_MNEMONIC_MOV:
            return is_register(operands[1]) ? read(operands[1].reg.value, width_bytes)
                                            : std::nullopt;
        case ZYDIS_MNEMONIC_LEA:
            return address(in, width_bytes);
        case ZYDIS_MNEMONIC_XOR:
            return is_same_register(in) ? std::optional(constant(0, 8)) : std::nullopt;
        case ZYDIS_MNEMONIC_SUB:
            if (is_same_register(in)) return constant(0, 8);
            return immediate ? plus(before, 0 - operands[1].imm.value.u) : std::nullopt;
        case ZYDIS_MNEMONIC_ADD:
            return immediate ? plus(before, operands[1].imm.value.u) : std::nullopt;
        case ZYDIS_MNEMONIC_INC:
            return plus(before, 1);
        case ZYDIS_MNEMONIC_DEC:
            return plus(before, ~std::uint64_t{0});
        default:
            return std::nullopt;
    }
}

// The low bytes of a register, as the content of a register that they are zero-extended to.
std::optional<KnownValue> ValueTracker::read(ZydisRegister reg, std::uint8_t width_bytes) const {
    auto value = known_[gpr_number(reg)];
    if (!value || width_bytes == value->width_bytes) return value;
    if (value->is_constant()) {
        value->sum = low_bytes(value->sum, width_bytes);
        value->width_bytes = width_bytes;
        return value;
    }
    const bool is_slot = value->sum == 0 && value->source_bytes <= value->width_bytes;
    if (width_bytes > value->width_bytes && !is_slot) return std::nullopt;
    value->width_bytes = width_bytes;
    return value;
}

std::optional<KnownValue> ValueTracker::address(const Instruction& lea,
                                                std::uint8_t width_bytes) const {
    const auto& memory = lea.operands()[1].mem;
    if (lea.zydis().address_width != 64 || memory.index != ZYDIS_REGISTER_NONE) return std::nullopt;
    const auto displacement = static_cast<std::uint64_t>(memory.disp.value);
    if (memory.base == ZYDIS_REGISTER_NONE) return constant(displacement, width_bytes);
    if (memory.base == ZYDIS_REGISTER_RIP)
        return constant(lea.next().value + displacement, width_bytes);
    return plus(read(memory.base, width_bytes), displacement);
}

void ValueTracker::forget_written(const Instruction& in) {
    for (const auto& operand : in.operands())
        if (is_register(operand) && (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            known_[gpr_number(operand.reg.value)].reset();
    // Not all string instructions list their pointers as written operands.
    if (in.zydis().meta.category != ZYDIS_CATEGORY_STRINGOP) return;
    known_[static_cast<std::size_t>(Gpr::rsi)].reset();
    known_[static_cast<std::size_t>(Gpr::rdi)].reset();
}

void ValueTracker::set_recorded(const Instruction& in, const ZydisDecodedOperand& written,
                                std::uint16_t slot) {
    const auto width_bytes = static_cast<std::uint8_t>(written.size / 8);
    if (width_bytes != 8 && (width_bytes != 4 || !always_writes(in, written))) return;
    known_[gpr_number(written.reg.value)] =
        KnownValue{.source = slot, .source_bytes = width_bytes, .width_bytes = width_bytes};
}

std::optional<std::int32_t> addend_of(const KnownValue& value, std::uint8_t width_bytes) {
    const auto addend = static_cast<std::int32_t>(value.sum);
    if (width_bytes == 8 && static_cast<std::uint64_t>(std::int64_t{addend}) != value.sum)
        return std::nullopt;
    return addend;
}

}  // namespace shadowprof
