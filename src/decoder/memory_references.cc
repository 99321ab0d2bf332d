#include "decoder/memory_references.h"

#include "decoder/gpr_numbers.h"
#include "decoder/register_flow.h"

namespace shadowprof {
namespace {

using gpr::rbp, gpr::rsp;

// Instructions whose accesses are not listed: state areas, XLAT, and those that have no access
// whose time or order counts.
bool is_left_out(const Instruction& in) {
    switch (in.zydis().meta.category) {
        case ZYDIS_CATEGORY_CLZERO:
        case ZYDIS_CATEGORY_MPX:
        case ZYDIS_CATEGORY_XSAVE:
        case ZYDIS_CATEGORY_XSAVEOPT:
        case ZYDIS_CATEGORY_AMX_TILE:
            return true;
        default:
            return is_hint(in) || in.mnemonic() == ZYDIS_MNEMONIC_XLAT;
    }
}

// With {1toN}, only one element is loaded.
std::uint16_t bytes_of(const Instruction& in, const ZydisDecodedOperand& operand) {
    const auto& broadcast = in.zydis().avx.broadcast;
    const bool one = broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID && !broadcast.is_static;
    return static_cast<std::uint16_t>((one ? operand.element_size : operand.size) / 8);
}

MemoryReference::Segment segment_of(const ZydisDecodedOperandMem& memory) {
    if (memory.segment == ZYDIS_REGISTER_FS) return MemoryReference::Segment::fs;
    return memory.segment == ZYDIS_REGISTER_GS ? MemoryReference::Segment::gs
                                               : MemoryReference::Segment::none;
}

MemoryReference named(const Instruction& in, const ZydisDecodedOperand& operand) {
    const auto& memory = operand.mem;
    MemoryReference reference{
        .displacement = memory.disp.value,
        .segment = segment_of(memory),
        .narrow = in.zydis().address_width == 32,
        .bytes = bytes_of(in, operand),
        .load = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
        .store = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0,
        .repeated = in.is_repeated() && in.zydis().meta.category == ZYDIS_CATEGORY_STRINGOP,
        .masked = is_masked(in)};
    if (operand.encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM) reference.modrm = &operand;
    if (is_gpr(memory.base)) reference.base = gpr_number(memory.base);
    if (is_gpr(memory.index)) {
        reference.index = gpr_number(memory.index);
        reference.scale = memory.scale;
    }
    if (memory.base == ZYDIS_REGISTER_RIP || memory.base == ZYDIS_REGISTER_EIP)
        reference.displacement += static_cast<std::int64_t>(in.next().value);
    return reference;
}

MemoryReference on_stack(std::uint8_t base, std::int64_t displacement, std::uint16_t bytes,
                         bool store) {
    return {.base = base,
            .displacement = displacement,
            .bytes = bytes,
            .load = !store,
            .store = store,
            .stack = true};
}

std::optional<MemoryReference> stack_reference(const Instruction& in) {
    const std::uint16_t bytes = in.zydis().operand_width == 16 ? 2 : 8;
    switch (in.mnemonic()) {
        case ZYDIS_MNEMONIC_PUSH:
        case ZYDIS_MNEMONIC_PUSHF:
        case ZYDIS_MNEMONIC_PUSHFQ:
        case ZYDIS_MNEMONIC_CALL:
            return on_stack(rsp, -std::int64_t{bytes}, bytes, true);
        case ZYDIS_MNEMONIC_POP:
        case ZYDIS_MNEMONIC_POPF:
        case ZYDIS_MNEMONIC_POPFQ:
        case ZYDIS_MNEMONIC_RET:
            return on_stack(rsp, 0, bytes, false);
        case ZYDIS_MNEMONIC_LEAVE:
            return on_stack(rbp, 0, bytes, false);
        case ZYDIS_MNEMONIC_ENTER:
            if ((in.operands()[1].imm.value.u & 31) != 0) return std::nullopt;
            return on_stack(rsp, -std::int64_t{bytes}, bytes, true);
        default:
            return std::nullopt;
    }
}

// POP computes an address that is based on RSP after it has moved RSP.
void settle_pop(const Instruction& in, MemoryReference& reference) {
    if (in.mnemonic() == ZYDIS_MNEMONIC_POP && reference.base == rsp)
        reference.displacement += reference.bytes;
}

// Adds the named operands that are stored to, or those that are only loaded.
void add_named(const Instruction& in, bool stores, MemoryReferences& result) {
    for (const auto& operand : in.operands()) {
        if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type != ZYDIS_MEMOP_TYPE_MEM)
            continue;
        const bool hidden = operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
        if (hidden && is_stack_instruction(in)) continue;
        auto reference = named(in, operand);
        settle_pop(in, reference);
        if (reference.store == stores && reference.bytes != 0) result.add(reference);
    }
}

}  // namespace

MemoryReferences memory_references(const Instruction& in) {
    MemoryReferences result;
    if (is_left_out(in) || has_register_bit_offset(in)) return result;
    const auto stack = stack_reference(in);
    if (stack && stack->load) result.add(*stack);
    add_named(in, false, result);
    add_named(in, true, result);
    if (stack && stack->store) result.add(*stack);
    return result;
}

std::optional<MemoryReference> operand_reference(const Instruction& in,
                                                 const ZydisDecodedOperand& operand) {
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || has_register_bit_offset(in))
        return std::nullopt;
    if (operand.mem.type != ZYDIS_MEMOP_TYPE_MEM && operand.mem.type != ZYDIS_MEMOP_TYPE_AGEN)
        return std::nullopt;
    auto reference = named(in, operand);
    settle_pop(in, reference);
    if (operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN)
        reference.segment = MemoryReference::Segment::none;
    return reference;
}

GuestAddress address_of(const MemoryReference& reference, const CpuState& cpu) {
    auto address = static_cast<std::uint64_t>(reference.displacement);
    if (reference.base) address += cpu.gpr[*reference.base];
    if (reference.index) address += cpu.gpr[*reference.index] * reference.scale;
    if (reference.narrow) address &= 0xffff'ffff;
    if (reference.segment == MemoryReference::Segment::fs) address += cpu.fs_base;
    if (reference.segment == MemoryReference::Segment::gs) address += cpu.gs_base;
    return {address};
}

bool is_hint(const Instruction& in) {
    switch (in.zydis().meta.category) {
        case ZYDIS_CATEGORY_NOP:
        case ZYDIS_CATEGORY_WIDENOP:
        case ZYDIS_CATEGORY_PREFETCH:
        case ZYDIS_CATEGORY_PREFETCHWT1:
        case ZYDIS_CATEGORY_CLFLUSHOPT:
        case ZYDIS_CATEGORY_CLWB:
        case ZYDIS_CATEGORY_CLDEMOTE:
            return true;
        default:
            return in.mnemonic() == ZYDIS_MNEMONIC_CLFLUSH;
    }
}

bool is_masked(const Instruction& in) {
    const auto mask = in.zydis().avx.mask.reg;
    if (mask != ZYDIS_REGISTER_NONE && mask != ZYDIS_REGISTER_K0) return true;
    switch (in.mnemonic()) {
        case ZYDIS_MNEMONIC_MASKMOVQ:
        case ZYDIS_MNEMONIC_MASKMOVDQU:
        case ZYDIS_MNEMONIC_VMASKMOVDQU:
        case ZYDIS_MNEMONIC_VMASKMOVPD:
        case ZYDIS_MNEMONIC_VMASKMOVPS:
        case ZYDIS_MNEMONIC_VPMASKMOVD:
        case ZYDIS_MNEMONIC_VPMASKMOVQ:
            return true;
        default:
            return false;
    }
}

bool has_register_bit_offset(const Instruction& in) {
    switch (in.mnemonic()) {
        case ZYDIS_MNEMONIC_BT:
        case ZYDIS_MNEMONIC_BTC:
        case ZYDIS_MNEMONIC_BTR:
        case ZYDIS_MNEMONIC_BTS:
            return in.operands()[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
        default:
            return false;
    }
}

bool is_locked(const Instruction& in) {
    return in.has_attribute(ZYDIS_ATTRIB_HAS_LOCK) ||
           (in.mnemonic() == ZYDIS_MNEMONIC_XCHG && in.has_memory_operand());
}

bool is_fence(const Instruction& in) {
    switch (in.mnemonic()) {
        case ZYDIS_MNEMONIC_MFENCE:
        case ZYDIS_MNEMONIC_CPUID:
        case ZYDIS_MNEMONIC_SERIALIZE:
            return true;
        default:
            return false;
    }
}

}  // namespace shadowprof
