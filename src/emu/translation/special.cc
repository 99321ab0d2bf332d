#include "emu/translation/special.h"

#include <array>

#include "decoder/gpr_numbers.h"
#include "emu/translation/instruction_bytes.h"
#include "emu/translation/narrow_stack.h"
#include "emu/translation/operand_code.h"

namespace shadowprof {
namespace {

using gpr::rbp, gpr::rdi, gpr::rsp;

Relocated translate_push(const Instruction& in, CodeBuffer& out) {
    if (in.zydis().operand_width != 64) return untranslatable;
    const auto& operand = in.operands()[0];
    switch (operand.type) {
        case ZYDIS_OPERAND_TYPE_IMMEDIATE:
            emit_push_sign_extended(static_cast<std::int32_t>(operand.imm.value.s), out);
            return translated;
        case ZYDIS_OPERAND_TYPE_REGISTER:
            if (!is_gpr(operand.reg.value)) return untranslatable;
            emit_push(emit_read_gpr(gpr_number(operand.reg.value), host::scratch_a, out), out);
            return translated;
        default:
            if (!emit_load_operand(in, operand, out)) return untranslatable;
            emit_push(host::scratch_a, out);
            return translated;
    }
}

Relocated translate_pop(const Instruction& in, CodeBuffer& out) {
    if (in.zydis().operand_width != 64) return untranslatable;
    const auto& operand = in.operands()[0];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
        if (!emit_pop_address(in, 8, out)) return untranslatable;
        out.guest_load(host::scratch_b, host::guest_rsp);
        emit_operand_access(operand, 0x89, host::scratch_b, out);
        out.lea(host::guest_rsp, host::guest_rsp, 8);
        return translated;
    }
    if (!is_gpr(operand.reg.value)) return untranslatable;
    const auto guest = gpr_number(operand.reg.value);
    if (guest == static_cast<std::uint8_t>(Gpr::rsp)) {
        out.guest_load(host::guest_rsp, host::guest_rsp);
        return translated;
    }
    const auto into = lives_in_context(guest) ? host::scratch_a : guest;
    out.guest_load(into, host::guest_rsp);
    out.lea(host::guest_rsp, host::guest_rsp, 8);
    if (lives_in_context(guest)) out.store(gpr_slot(guest), into);
    return {.ok = true,
            .recovery = Recovery::none,
            .context_home = {host::scratch_a, host::scratch_a, host::scratch_a}};
}

Relocated translate_pushf(const Instruction& in, CodeBuffer& out) {
    if (in.zydis().operand_width != 64) return untranslatable;
    emit_flags_to_scratch(out);
    emit_push(host::scratch_a, out);
    return translated;
}

Relocated translate_popf(const Instruction& in, CodeBuffer& out) {
    if (in.zydis().operand_width != 64) return untranslatable;
    out.guest_load(host::scratch_a, host::guest_rsp);
    emit_flags_from_scratch(false, out);
    out.lea(host::guest_rsp, host::guest_rsp, 8);
    return translated;
}

Relocated translate_leave(const Instruction& in, CodeBuffer& out) {
    if (in.zydis().operand_width != 64) return untranslatable;
    out.guest_load(host::scratch_a, rbp);
    out.lea(host::guest_rsp, rbp, 8);
    out.move(rbp, host::scratch_a);
    return translated;
}

Relocated translate_enter(const Instruction& in, CodeBuffer& out) {
    const auto frame_bytes = static_cast<std::int32_t>(in.operands()[0].imm.value.u & 0xffff);
    const auto nesting = static_cast<std::int32_t>(in.operands()[1].imm.value.u & 31);
    if (in.zydis().operand_width != 64) return untranslatable;
    const auto final_rsp = -8 * (nesting + 1) - frame_bytes;
    out.guest_store(host::guest_rsp, -8, rbp);
    for (std::int32_t i = 1; i < nesting; ++i) {
        out.guest_load(host::scratch_a, rbp, -8 * i);
        out.guest_store(host::guest_rsp, -8 * (i + 1), host::scratch_a);
    }
    if (nesting) {
        out.lea(host::scratch_a, host::guest_rsp, -8);
        out.guest_store(host::guest_rsp, -8 * (nesting + 1), host::scratch_a);
    }
    // ENTER faults if a write at the final stack pointer would.
    out.guest_load(host::scratch_a, host::guest_rsp, final_rsp);
    out.guest_store(host::guest_rsp, final_rsp, host::scratch_a);
    out.lea(rbp, host::guest_rsp, -8);
    out.lea(host::guest_rsp, host::guest_rsp, final_rsp);
    return translated;
}

// The operand at ES:RDI takes no segment override, so RDI itself is shifted around the instruction.
Relocated translate_string(const Instruction& in, CodeBuffer& out) {
    auto bytes = InstructionBytes::parse(in);
    if (!bytes || bytes->has_address_size_prefix() || in.has_attribute(ZYDIS_ATTRIB_HAS_SEGMENT_GS))
        return untranslatable;
    if (out.keeps_host_fs() && in.has_attribute(ZYDIS_ATTRIB_HAS_SEGMENT_FS)) return untranslatable;
    // Without a second operand in memory, the prefix has no effect.
    if (!bytes->segment()) bytes->set_segment(0x65);
    out.load(host::scratch_a, offsetof(ExecutionContext, delta));
    out.lea_sum(rdi, rdi, host::scratch_a);
    out.bytes(bytes->emit());
    out.load(host::scratch_a, offsetof(ExecutionContext, negative_delta));
    out.lea_sum(rdi, rdi, host::scratch_a);
    return {.ok = true, .recovery = Recovery::rdi_shifted};
}

// The result of a RIP-relative LEA is a constant.
std::optional<Relocated> translate_lea(const Instruction& in, CodeBuffer& out) {
    const auto* memory = in.modrm_memory();
    if (memory->mem.base != ZYDIS_REGISTER_RIP || in.zydis().operand_width != 64)
        return std::nullopt;
    const auto target = in.next() + static_cast<std::uint64_t>(memory->mem.disp.value);
    const auto guest = gpr_number(in.operands()[0].reg.value);
    if (in.zydis().address_width != 64 || guest == static_cast<std::uint8_t>(Gpr::rsp))
        return std::nullopt;
    const auto into = lives_in_context(guest) ? host::scratch_a : guest;
    out.move_imm(into, target.value);
    if (lives_in_context(guest)) out.store(gpr_slot(guest), into);
    return Relocated{.ok = true,
                     .recovery = Recovery::none,
                     .context_home = {host::scratch_a, host::scratch_a, host::scratch_a}};
}

Relocated translate_segment_base(const Instruction& in, CodeBuffer& out) {
    // Leaves it to the processor what these instructions do without FSGSBASE.
    if (out.keeps_host_fs()) return untranslatable;
    const auto guest = gpr_number(in.operands()[0].reg.value);
    const bool wide = in.operands()[0].size == 64;
    const bool is_fs =
        in.mnemonic() == ZYDIS_MNEMONIC_RDFSBASE || in.mnemonic() == ZYDIS_MNEMONIC_WRFSBASE;
    const auto slot =
        is_fs ? offsetof(ExecutionContext, guest_fs) : offsetof(ExecutionContext, guest_gs);
    if (in.mnemonic() == ZYDIS_MNEMONIC_RDFSBASE || in.mnemonic() == ZYDIS_MNEMONIC_RDGSBASE) {
        out.load(host::scratch_a, slot);
        if (!wide) out.move32(host::scratch_a, host::scratch_a);
        emit_write_gpr(guest, host::scratch_a, out);
        return translated;
    }
    const auto from = emit_read_gpr(guest, host::scratch_a, out);
    if (wide)
        out.move(host::scratch_a, from);
    else
        out.move32(host::scratch_a, from);
    // Comes first, as it faults if the processor does not accept the base, shifted or not.
    if (!is_fs) {
        out.bytes({0xf3, 0x49, 0x0f, 0xae, 0xda});  // wrgsbase r10
        out.load(host::scratch_b, offsetof(ExecutionContext, delta));
        out.bytes({0xf3, 0x49, 0x0f, 0xae, 0xdb});  // wrgsbase r11
    } else {
        out.bytes({0xf3, 0x49, 0x0f, 0xae, 0xd2});  // wrfsbase r10
        out.load(host::scratch_b, offsetof(ExecutionContext, delta));
        out.lea_sum(host::scratch_b, host::scratch_a, host::scratch_b);
        out.bytes({0xf3, 0x49, 0x0f, 0xae, 0xd3});  // wrfsbase r11
        out.store(offsetof(ExecutionContext, host_guest_fs), host::scratch_b);
    }
    out.store(slot, host::scratch_a);
    return translated;
}

bool is_string_with_es(ZydisMnemonic m) {
    switch (m) {
        case ZYDIS_MNEMONIC_MOVSB:
        case ZYDIS_MNEMONIC_MOVSW:
        case ZYDIS_MNEMONIC_MOVSQ:
        case ZYDIS_MNEMONIC_CMPSB:
        case ZYDIS_MNEMONIC_CMPSW:
        case ZYDIS_MNEMONIC_CMPSQ:
        case ZYDIS_MNEMONIC_STOSB:
        case ZYDIS_MNEMONIC_STOSW:
        case ZYDIS_MNEMONIC_STOSD:
        case ZYDIS_MNEMONIC_STOSQ:
        case ZYDIS_MNEMONIC_SCASB:
        case ZYDIS_MNEMONIC_SCASW:
        case ZYDIS_MNEMONIC_SCASD:
        case ZYDIS_MNEMONIC_SCASQ:
            return true;
        default:
            return false;
    }
}

// Whether MOVSD or CMPSD is the string instruction, not the vector instruction of that name.
bool is_ambiguous_string(const Instruction& in) {
    return (in.mnemonic() == ZYDIS_MNEMONIC_MOVSD || in.mnemonic() == ZYDIS_MNEMONIC_CMPSD) &&
           in.zydis().meta.category == ZYDIS_CATEGORY_STRINGOP;
}

// Whether the instruction accesses memory that no prefix applies to, changes what this process may
// access, or holds state that a sample does not carry.
bool is_untranslatable(const Instruction& in) {
    switch (in.mnemonic()) {
        case ZYDIS_MNEMONIC_CLZERO:
        case ZYDIS_MNEMONIC_MONITOR:
        case ZYDIS_MNEMONIC_MONITORX:
        case ZYDIS_MNEMONIC_MOVDIR64B:
        case ZYDIS_MNEMONIC_ENQCMD:
        case ZYDIS_MNEMONIC_ENQCMDS:
        case ZYDIS_MNEMONIC_UMONITOR:
        case ZYDIS_MNEMONIC_WRPKRU:
        case ZYDIS_MNEMONIC_RDPKRU:
        case ZYDIS_MNEMONIC_LFS:
        case ZYDIS_MNEMONIC_LGS:
        case ZYDIS_MNEMONIC_LSS:
        case ZYDIS_MNEMONIC_PUSHFD:
        case ZYDIS_MNEMONIC_SGDT:
        case ZYDIS_MNEMONIC_SIDT:
            return true;
        case ZYDIS_MNEMONIC_MOV:
            return ZydisRegisterGetClass(in.operands()[0].reg.value) == ZYDIS_REGCLASS_SEGMENT &&
                   in.operands()[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
        default:
            return in.zydis().meta.category == ZYDIS_CATEGORY_AMX_TILE;
    }
}

std::optional<Relocated> dispatch(const Instruction& in, CodeBuffer& out) {
    if (is_string_with_es(in.mnemonic()) || is_ambiguous_string(in))
        return translate_string(in, out);
    if (is_untranslatable(in)) return untranslatable;
    if (in.zydis().operand_width == 16)
        if (const auto narrow = translate_narrow_stack(in, out)) return narrow;
    switch (in.mnemonic()) {
        case ZYDIS_MNEMONIC_ENDBR64:
        case ZYDIS_MNEMONIC_ENDBR32:
            return translated;
        case ZYDIS_MNEMONIC_NOP:
            // Other opcodes with this mnemonic do not exist on every processor.
            return in.zydis().opcode == 0x90 || in.zydis().opcode == 0x1f
                       ? std::optional(translated)
                       : std::nullopt;
        case ZYDIS_MNEMONIC_PUSH:
            return translate_push(in, out);
        case ZYDIS_MNEMONIC_POP:
            return translate_pop(in, out);
        case ZYDIS_MNEMONIC_PUSHFQ:
            return translate_pushf(in, out);
        case ZYDIS_MNEMONIC_POPFQ:
            return translate_popf(in, out);
        case ZYDIS_MNEMONIC_LEAVE:
            return translate_leave(in, out);
        case ZYDIS_MNEMONIC_ENTER:
            return translate_enter(in, out);
        case ZYDIS_MNEMONIC_LEA:
            return translate_lea(in, out);
        case ZYDIS_MNEMONIC_RDFSBASE:
        case ZYDIS_MNEMONIC_RDGSBASE:
        case ZYDIS_MNEMONIC_WRFSBASE:
        case ZYDIS_MNEMONIC_WRGSBASE:
            return translate_segment_base(in, out);
        default:
            return std::nullopt;
    }
}

}  // namespace

std::optional<Relocated> translate_special(const Instruction& in, CodeBuffer& out) {
    CodeBuffer attempt = out;
    auto result = dispatch(in, attempt);
    if (result && result->ok) out = attempt;
    return result;
}

}  // namespace shadowprof
