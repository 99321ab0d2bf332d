#include "emu/translation/operand_code.h"

#include "decoder/gpr_numbers.h"
#include "emu/translation/relocate.h"

namespace shadowprof {
namespace {

using gpr::rsp;

}  // namespace

std::uint8_t host_segment(const ZydisDecodedOperand& operand, const CodeBuffer& out) {
    return operand.mem.segment == ZYDIS_REGISTER_FS && !out.keeps_host_fs() ? 0x64 : 0x65;
}

void emit_operand_access(const ZydisDecodedOperand& operand, std::uint8_t opcode, std::uint8_t reg,
                         CodeBuffer& out) {
    out.bytes({host_segment(operand, out), CodeBuffer::rex(true, reg, 0, host::scratch_a), opcode,
               CodeBuffer::modrm(0, reg, host::scratch_a)});
}

std::uint8_t emit_read_gpr(std::uint8_t guest, std::uint8_t scratch, CodeBuffer& out) {
    if (guest == static_cast<std::uint8_t>(Gpr::rsp)) return host::guest_rsp;
    if (!lives_in_context(guest)) return guest;
    out.load(scratch, gpr_slot(guest));
    return scratch;
}

void emit_write_gpr(std::uint8_t guest, std::uint8_t from, CodeBuffer& out) {
    if (guest == static_cast<std::uint8_t>(Gpr::rsp))
        out.move(host::guest_rsp, from);
    else if (lives_in_context(guest))
        out.store(gpr_slot(guest), from);
    else
        out.move(guest, from);
}

void emit_push(std::uint8_t host_reg, CodeBuffer& out) {
    out.guest_store(host::guest_rsp, -8, host_reg);
    out.lea(host::guest_rsp, host::guest_rsp, -8);
}

void emit_push_sign_extended(std::int32_t immediate, CodeBuffer& out) {
    // mov qword gs:[r9 - 8], immediate
    out.bytes({0x65, 0x49, 0xc7, 0x41, 0xf8});
    out.value(immediate);
    out.lea(host::guest_rsp, host::guest_rsp, -8);
}

// This and emit_flags_from_scratch() move host RSP from the trace to a small stack in the context
// and back.
void emit_flags_to_scratch(CodeBuffer& out) {
    out.store(offsetof(ExecutionContext, trace_cursor), rsp);
    out.context_bytes({0x48, 0x8d, 0x25}, offsetof(ExecutionContext, flag_stack) + 16);  // lea
    out.bytes({0x9c});                                                                   // pushfq
    out.pop(host::scratch_a);
    out.load(rsp, offsetof(ExecutionContext, trace_cursor));
}

void emit_flags_from_scratch(bool narrow, CodeBuffer& out) {
    out.store(offsetof(ExecutionContext, trace_cursor), rsp);
    out.context_bytes({0x48, 0x8d, 0x25}, offsetof(ExecutionContext, flag_stack) + 16);  // lea
    out.push(host::scratch_a);
    if (narrow) out.bytes({0x66});
    out.bytes({0x9d});  // popfq
    out.load(rsp, offsetof(ExecutionContext, trace_cursor));
}

// A POP whose address is based on RSP computes it after it has moved RSP.
bool emit_pop_address(const Instruction& in, std::int32_t popped_bytes, CodeBuffer& out) {
    const auto& memory = in.modrm_memory()->mem;
    const bool narrow = in.zydis().address_width == 32;
    const bool moves = is_gpr(memory.base) && gpr_number(memory.base) == rsp;
    if (!emit_operand_address(in, out)) return false;
    if (!moves) return true;
    const bool has_base = memory.segment == ZYDIS_REGISTER_GS ||
                          (memory.segment == ZYDIS_REGISTER_FS && out.keeps_host_fs());
    if (narrow && has_base) return false;
    out.lea(host::scratch_a, host::scratch_a, popped_bytes);
    if (narrow) out.move32(host::scratch_a, host::scratch_a);
    return true;
}

bool emit_load_operand(const Instruction& in, const ZydisDecodedOperand& operand, CodeBuffer& out) {
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
        const auto reg = emit_read_gpr(gpr_number(operand.reg.value), host::scratch_a, out);
        if (reg != host::scratch_a) out.move(host::scratch_a, reg);
        return true;
    }
    if (!emit_operand_address(in, out)) return false;
    emit_operand_access(operand, 0x8b, host::scratch_a, out);
    return true;
}

void emit_pop_return_address(const Instruction& ret, CodeBuffer& out) {
    const auto& immediate = ret.zydis().raw.imm[0];
    const auto extra = immediate.size ? immediate.value.u : 0;
    out.guest_load(host::scratch_a, host::guest_rsp);
    out.lea(host::guest_rsp, host::guest_rsp, static_cast<std::int32_t>(8 + extra));
}

void emit_push_return_address(GuestAddress address, CodeBuffer& out) {
    const auto value = static_cast<std::int64_t>(address.value);
    if (value == static_cast<std::int32_t>(value)) {
        emit_push_sign_extended(static_cast<std::int32_t>(value), out);
    } else {
        out.move_imm(host::scratch_b, address.value);
        emit_push(host::scratch_b, out);
    }
}

}  // namespace shadowprof
