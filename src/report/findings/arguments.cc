#include "report/findings/arguments.h"

#include <algorithm>
#include <array>
#include <set>

#include "report/text/facts_text.h"

namespace shadowprof {
namespace {

constexpr std::array argument_registers{
    ZYDIS_REGISTER_RDI,  ZYDIS_REGISTER_RSI,  ZYDIS_REGISTER_RDX,  ZYDIS_REGISTER_RCX,
    ZYDIS_REGISTER_R8,   ZYDIS_REGISTER_R9,   ZYDIS_REGISTER_XMM0, ZYDIS_REGISTER_XMM1,
    ZYDIS_REGISTER_XMM2, ZYDIS_REGISTER_XMM3, ZYDIS_REGISTER_XMM4, ZYDIS_REGISTER_XMM5,
    ZYDIS_REGISTER_XMM6, ZYDIS_REGISTER_XMM7};

// Returns the argument register that `reg` is a part of; none if there is none.
ZydisRegister argument_of(ZydisRegister reg) {
    const auto whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    for (const ZydisRegister each : argument_registers)
        if (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, each) == whole)
            return each;
    return ZYDIS_REGISTER_NONE;
}

// Whether the result is the value of the source register or its lower 4 or 8 bytes.
bool copies_register(const Instruction& instruction) {
    switch (instruction.mnemonic()) {
        case ZYDIS_MNEMONIC_MOV:
        case ZYDIS_MNEMONIC_MOVSXD:
        case ZYDIS_MNEMONIC_MOVD:
        case ZYDIS_MNEMONIC_MOVQ:
        case ZYDIS_MNEMONIC_MOVAPD:
        case ZYDIS_MNEMONIC_MOVAPS:
        case ZYDIS_MNEMONIC_VMOVD:
        case ZYDIS_MNEMONIC_VMOVQ:
        case ZYDIS_MNEMONIC_VMOVAPD:
        case ZYDIS_MNEMONIC_VMOVAPS:
            break;
        default:
            return false;
    }
    const auto operands = instruction.operands();
    return operands.size() >= 2 && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[1].size >= 32;
}

}  // namespace

std::map<std::size_t, std::string> argument_copies(std::span<const AnnotatedInstruction> code) {
    std::map<std::size_t, std::string> copies;
    std::set<ZydisRegister> overwritten;
    for (std::size_t i = 0; i < code.size(); ++i) {
        const auto instruction = code[i].decode();
        if (!instruction || instruction->flow() != Flow::next) break;
        const auto operands = instruction->operands();
        if (copies_register(*instruction)) {
            const auto argument = argument_of(operands[1].reg.value);
            if (argument != ZYDIS_REGISTER_NONE && !overwritten.contains(argument))
                copies[i] = ZydisRegisterGetString(argument);
        }
        for (const ZydisDecodedOperand& operand : operands)
            if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
                (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0)
                overwritten.insert(argument_of(operand.reg.value));
    }
    return copies;
}

std::string argument_text(const std::string& argument, const std::vector<std::byte>& value,
                          ValueType type) {
    const auto used = static_cast<std::size_t>(
        std::find_if(value.rbegin(), value.rend(), [](std::byte b) { return b != std::byte{}; })
            .base() -
        value.begin());
    const std::size_t width = used <= 4 ? 4 : 8;
    if (!argument.starts_with("xmm") || used > 8 || value.size() < width)
        return short_value(value, type);
    const std::vector number(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(width));
    return short_value(number, {ValueType::Kind::floating, static_cast<std::uint8_t>(width)});
}

}  // namespace shadowprof
