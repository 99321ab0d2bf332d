#include "decoder/disassembly.h"

#include <Zydis/Internal/String.h>

#include <array>
#include <string_view>

namespace shadowprof {
namespace {

struct Alias {
    ZydisMnemonic mnemonic;
    std::string_view name;
};

// Conditions that Zydis and objdump name differently.
constexpr std::array<Alias, 18> aliases{{
    {ZYDIS_MNEMONIC_JZ, "je"},
    {ZYDIS_MNEMONIC_JNZ, "jne"},
    {ZYDIS_MNEMONIC_JNB, "jae"},
    {ZYDIS_MNEMONIC_JNBE, "ja"},
    {ZYDIS_MNEMONIC_JNL, "jge"},
    {ZYDIS_MNEMONIC_JNLE, "jg"},
    {ZYDIS_MNEMONIC_CMOVZ, "cmove"},
    {ZYDIS_MNEMONIC_CMOVNZ, "cmovne"},
    {ZYDIS_MNEMONIC_CMOVNB, "cmovae"},
    {ZYDIS_MNEMONIC_CMOVNBE, "cmova"},
    {ZYDIS_MNEMONIC_CMOVNL, "cmovge"},
    {ZYDIS_MNEMONIC_CMOVNLE, "cmovg"},
    {ZYDIS_MNEMONIC_SETZ, "sete"},
    {ZYDIS_MNEMONIC_SETNZ, "setne"},
    {ZYDIS_MNEMONIC_SETNB, "setae"},
    {ZYDIS_MNEMONIC_SETNBE, "seta"},
    {ZYDIS_MNEMONIC_SETNL, "setge"},
    {ZYDIS_MNEMONIC_SETNLE, "setg"},
}};

// A formatter hook. Its user data is the function that it replaces.
ZyanStatus print_mnemonic(const ZydisFormatter* formatter, ZydisFormatterBuffer* buffer,
                          ZydisFormatterContext* context) {
    for (const Alias& alias : aliases) {
        if (context->instruction->mnemonic != alias.mnemonic) continue;
        ZYAN_CHECK(ZydisFormatterBufferAppend(buffer, ZYDIS_TOKEN_MNEMONIC));
        ZyanString* out = nullptr;
        ZYAN_CHECK(ZydisFormatterBufferGetString(buffer, &out));
        const ZydisShortString name{alias.name.data(), static_cast<ZyanU8>(alias.name.size())};
        return ZydisStringAppendShort(out, &name);
    }
    auto* next = static_cast<const ZydisFormatterFunc*>(context->user_data);
    return (*next)(formatter, buffer, context);
}

}  // namespace

std::string_view mnemonic_name(ZydisMnemonic mnemonic) {
    for (const Alias& alias : aliases)
        if (alias.mnemonic == mnemonic) return alias.name;
    const char* name = ZydisMnemonicGetString(mnemonic);
    return name ? name : "";
}

Disassembler::Disassembler() {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&formatter_, ZYDIS_FORMATTER_STYLE_INTEL);
    constexpr ZyanUPointer no_padding = ZYDIS_PADDING_DISABLED;
    ZydisFormatterSetProperty(&formatter_, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, no_padding);
    ZydisFormatterSetProperty(&formatter_, ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE, no_padding);
    ZydisFormatterSetProperty(&formatter_, ZYDIS_FORMATTER_PROP_DISP_PADDING, no_padding);
    ZydisFormatterSetProperty(&formatter_, ZYDIS_FORMATTER_PROP_IMM_PADDING, no_padding);
    ZydisFormatterSetProperty(&formatter_, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    ZydisFormatterSetProperty(&formatter_, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
    ZydisFormatterFunc hook = &print_mnemonic;
    const void* replaced = reinterpret_cast<const void*>(hook);
    ZydisFormatterSetHook(&formatter_, ZYDIS_FORMATTER_FUNC_PRINT_MNEMONIC, &replaced);
    default_mnemonic_ = reinterpret_cast<ZydisFormatterFunc>(const_cast<void*>(replaced));
}

std::string Disassembler::text(std::span<const std::byte> code, std::uint64_t address) const {
    ZydisDecodedInstruction instruction;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder_, code.data(), code.size(), &instruction,
                                           operands.data())))
        return {};
    std::array<char, 160> buffer;
    ZydisFormatterFunc next = default_mnemonic_;
    if (ZYAN_FAILED(ZydisFormatterFormatInstruction(&formatter_, &instruction, operands.data(),
                                                    instruction.operand_count_visible,
                                                    buffer.data(), buffer.size(), address, &next)))
        return {};
    return buffer.data();
}

}  // namespace shadowprof
