#include "emu/watch/accesses.h"

#include <algorithm>
#include <array>

#include "decoder/memory_references.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t max_plain_bytes = 64;
constexpr std::uint64_t direction_flag = 0x400;
constexpr std::uint64_t low_32_bits = 0xffff'ffff;

// Whether the operand's address does not follow from the registers before the instruction.
bool is_peculiar(const Instruction& in, const ZydisDecodedOperand& operand) {
    const bool pops_to_memory = in.mnemonic() == ZYDIS_MNEMONIC_POP &&
                                operand.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT &&
                                operand.mem.base == ZYDIS_REGISTER_RSP;
    return pops_to_memory || in.mnemonic() == ZYDIS_MNEMONIC_ENTER;
}

std::optional<std::uint64_t> value_of(ZydisRegister reg, const Instruction& in,
                                      const CpuState& cpu) {
    if (reg == ZYDIS_REGISTER_NONE) return 0;
    if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP) return in.next().value;
    if (!is_gpr(reg) || is_high_byte(reg)) return std::nullopt;
    const auto value = cpu.gpr[gpr_number(reg)];
    switch (ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg)) {
        case 64:
            return value;
        case 32:
            return value & low_32_bits;
        case 8:
            return value & 0xff;
        default:
            return std::nullopt;
    }
}

std::optional<GuestAddress> address_of(const Instruction& in, const ZydisDecodedOperand& operand,
                                       const CpuState& cpu) {
    const auto& mem = operand.mem;
    const auto base = value_of(mem.base, in, cpu);
    const auto index = value_of(mem.index, in, cpu);
    if (!base || !index || mem.type != ZYDIS_MEMOP_TYPE_MEM) return std::nullopt;
    const bool hidden = operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
    auto address = *base + *index * std::max<std::uint64_t>(mem.scale, mem.index ? 1 : 0);
    if (!hidden && mem.disp.has_displacement) address += static_cast<std::uint64_t>(mem.disp.value);
    // The stack: LEAVE reads where RBP points, pushes write below RSP.
    if (hidden && in.mnemonic() == ZYDIS_MNEMONIC_LEAVE) address = cpu[Gpr::rbp];
    const bool writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (hidden && mem.base == ZYDIS_REGISTER_RSP && writes) address -= operand.size / 8;
    if (in.zydis().address_width == 32) address &= low_32_bits;
    if (mem.segment == ZYDIS_REGISTER_FS) address += cpu.fs_base;
    if (mem.segment == ZYDIS_REGISTER_GS) address += cpu.gs_base;
    return GuestAddress{address};
}

// Whether the instruction raises #GP for an address that is no multiple of the operand's size
// (Intel SDM vol. 2, 2.4 and 2.7). The state areas of FXSAVE and XSAVE are no operands of this
// kind.
bool demands_alignment(const Instruction& in) {
    constexpr std::array unaligned = {ZYDIS_MNEMONIC_MOVUPS,    ZYDIS_MNEMONIC_MOVUPD,
                                      ZYDIS_MNEMONIC_MOVDQU,    ZYDIS_MNEMONIC_LDDQU,
                                      ZYDIS_MNEMONIC_PCMPESTRI, ZYDIS_MNEMONIC_PCMPESTRM,
                                      ZYDIS_MNEMONIC_PCMPISTRI, ZYDIS_MNEMONIC_PCMPISTRM};
    if (in.mnemonic() == ZYDIS_MNEMONIC_CMPXCHG16B) return true;
    switch (in.zydis().meta.exception_class) {
        case ZYDIS_EXCEPTION_CLASS_SSE1:
        case ZYDIS_EXCEPTION_CLASS_SSE2:
        case ZYDIS_EXCEPTION_CLASS_SSE4:
            return std::ranges::find(unaligned, in.mnemonic()) == unaligned.end();
        case ZYDIS_EXCEPTION_CLASS_AVX1:
        case ZYDIS_EXCEPTION_CLASS_E1:
        case ZYDIS_EXCEPTION_CLASS_E1NF:
            return true;
        default:
            return false;
    }
}

}  // namespace

std::optional<AccessList> accesses_of(const Instruction& in, const CpuState& cpu) {
    AccessList list;
    if (is_hint(in)) return list;
    const bool is_string = in.zydis().meta.category == ZYDIS_CATEGORY_STRINGOP;
    if (has_register_bit_offset(in)) return std::nullopt;
    if (is_string && (cpu.rflags & direction_flag)) return std::nullopt;
    for (const auto& operand : in.operands()) {
        if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN)
            continue;
        const auto address = address_of(in, operand, cpu);
        std::uint64_t size = operand.size / 8;
        if (!address || size == 0 || size > max_plain_bytes || is_peculiar(in, operand) ||
            list.is_full())
            return std::nullopt;
        if (is_string && in.is_repeated()) {
            if (cpu[Gpr::rcx] > max_string_bytes / size) return std::nullopt;
            size *= cpu[Gpr::rcx];
        }
        const bool reads = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
        list.add({.address = *address,
                  .size_bytes = size,
                  .reads = reads,
                  .is_plain_load = reads && !is_string && !is_locked(in) && !is_masked(in)});
    }
    return list;
}

// What an instruction reads comes before what it writes: a push from memory reads that first, and a
// pop to memory reads the stack first. Zen 3 looks at alignment before it looks at the address.
bool faults_in_stack_segment(const Instruction& in, const CpuState& cpu) {
    for (const auto action : {ZYDIS_OPERAND_ACTION_MASK_READ, ZYDIS_OPERAND_ACTION_MASK_WRITE}) {
        for (const auto& operand : in.operands()) {
            if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || (operand.actions & action) == 0)
                continue;
            const auto address = address_of(in, operand, cpu);
            if (!address) continue;
            const auto bytes = std::max<std::uint64_t>(operand.size / 8, 1);
            if (!is_canonical(address->value) || !is_canonical((*address + (bytes - 1)).value)) {
                const bool is_aligned = address->value % bytes == 0 || !demands_alignment(in);
                return operand.mem.segment == ZYDIS_REGISTER_SS && is_aligned;
            }
        }
    }
    return false;
}

}  // namespace shadowprof
