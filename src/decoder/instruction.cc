#include "decoder/instruction.h"

#include <cpuid.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace shadowprof {
namespace {

// On AMD's processors and those derived from them, a branch with an operand-size prefix has 16 bits
// (AMD64 Architecture Programmer's Manual vol. 3, 1.2.2). Intel's ignore the prefix.
bool read_narrow_branches() {
    unsigned unused = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(0, &unused, &b, &c, &d)) return false;
    std::array<char, 12> vendor;
    std::memcpy(&vendor[0], &b, 4);
    std::memcpy(&vendor[4], &d, 4);
    std::memcpy(&vendor[8], &c, 4);
    const std::string_view name(vendor.data(), vendor.size());
    return name == "AuthenticAMD" || name == "HygonGenuine";
}

bool has_narrow_branches() {
    static const bool value = read_narrow_branches();
    return value;
}

const ZydisDecoder& decoder() {
    static const ZydisDecoder instance = [] {
        ZydisDecoder d;
        ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
        ZydisDecoderEnableMode(&d, ZYDIS_DECODER_MODE_AMD_BRANCHES, has_narrow_branches());
        return d;
    }();
    return instance;
}

bool is_near_relative(const ZydisDecodedInstruction& in) {
    return in.raw.imm[0].is_relative && in.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR;
}

// Checks the prefixes, because Zydis reports only narrow branches with a 32-bit displacement.
bool is_narrow_branch(const ZydisDecodedInstruction& in) {
    const bool branches =
        in.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE || in.meta.category == ZYDIS_CATEGORY_RET;
    if (!branches || !has_narrow_branches() || in.raw.rex.W) return false;
    return std::any_of(in.raw.prefixes, in.raw.prefixes + in.raw.prefix_count,
                       [](const auto& prefix) { return prefix.value == 0x66; });
}

Flow classify(const ZydisDecodedInstruction& in) {
    if (is_narrow_branch(in)) return Flow::other;
    switch (in.meta.category) {
        case ZYDIS_CATEGORY_COND_BR:
            // XBEGIN and XEND, and JKZD and JKNZD, which have a VEX prefix.
            return in.meta.isa_set == ZYDIS_ISA_SET_RTM ||
                           in.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY
                       ? Flow::other
                       : Flow::conditional;
        case ZYDIS_CATEGORY_UNCOND_BR:
            if (in.mnemonic != ZYDIS_MNEMONIC_JMP || in.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
                return Flow::other;
            return is_near_relative(in) ? Flow::jump : Flow::indirect_jump;
        case ZYDIS_CATEGORY_CALL:
            if (in.mnemonic != ZYDIS_MNEMONIC_CALL || in.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
                return Flow::other;
            return is_near_relative(in) ? Flow::call : Flow::indirect_call;
        case ZYDIS_CATEGORY_RET:
            return in.mnemonic == ZYDIS_MNEMONIC_RET && in.operand_width == 64 &&
                           in.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR
                       ? Flow::ret
                       : Flow::other;
        case ZYDIS_CATEGORY_SYSCALL:
            return in.mnemonic == ZYDIS_MNEMONIC_SYSCALL ? Flow::syscall : Flow::other;
        case ZYDIS_CATEGORY_INTERRUPT:
        case ZYDIS_CATEGORY_SYSRET:
        case ZYDIS_CATEGORY_SYSTEM:
            return Flow::other;
        default:
            return Flow::next;
    }
}

// System instructions that user code may execute and that continue with the next instruction.
bool is_user_system(ZydisMnemonic mnemonic) {
    static constexpr std::array allowed = {
        ZYDIS_MNEMONIC_RDTSC,    ZYDIS_MNEMONIC_RDTSCP,   ZYDIS_MNEMONIC_XGETBV,
        ZYDIS_MNEMONIC_RDPMC,    ZYDIS_MNEMONIC_CPUID,    ZYDIS_MNEMONIC_RDPID,
        ZYDIS_MNEMONIC_RDFSBASE, ZYDIS_MNEMONIC_RDGSBASE, ZYDIS_MNEMONIC_WRFSBASE,
        ZYDIS_MNEMONIC_WRGSBASE, ZYDIS_MNEMONIC_SMSW,     ZYDIS_MNEMONIC_SGDT,
        ZYDIS_MNEMONIC_SIDT,     ZYDIS_MNEMONIC_SLDT,     ZYDIS_MNEMONIC_STR,
        ZYDIS_MNEMONIC_VERR,     ZYDIS_MNEMONIC_VERW,     ZYDIS_MNEMONIC_LAR,
        ZYDIS_MNEMONIC_LSL,      ZYDIS_MNEMONIC_RDPKRU,   ZYDIS_MNEMONIC_WRPKRU,
    };
    return std::find(allowed.begin(), allowed.end(), mnemonic) != allowed.end();
}

std::optional<GprField> field_of(const ZydisDecodedOperand& operand) {
    switch (operand.encoding) {
        case ZYDIS_OPERAND_ENCODING_MODRM_REG:
            return GprField::modrm_reg;
        case ZYDIS_OPERAND_ENCODING_MODRM_RM:
            return GprField::modrm_rm;
        case ZYDIS_OPERAND_ENCODING_OPCODE:
            return GprField::opcode;
        case ZYDIS_OPERAND_ENCODING_NDSNDD:
            return GprField::vvvv;
        default:
            return std::nullopt;
    }
}

// BSF and BSR leave the destination unchanged if the source is zero, whether or not the processor's
// manual says so. LAR and LSL do so if there is no such descriptor. RDSSP does nothing without a
// shadow stack. Where the kernel emulates SLDT, STR and SMSW (UMIP), they leave the upper half of a
// 32-bit destination unchanged.
bool may_keep_destination(ZydisMnemonic mnemonic) {
    static constexpr std::array list = {
        ZYDIS_MNEMONIC_BSF,    ZYDIS_MNEMONIC_BSR,  ZYDIS_MNEMONIC_RDSSPD,
        ZYDIS_MNEMONIC_RDSSPQ, ZYDIS_MNEMONIC_SLDT, ZYDIS_MNEMONIC_STR,
        ZYDIS_MNEMONIC_SMSW,   ZYDIS_MNEMONIC_LAR,  ZYDIS_MNEMONIC_LSL,
    };
    return std::find(list.begin(), list.end(), mnemonic) != list.end();
}

GprUse register_use(const ZydisDecodedOperand& operand, GprField field, ZydisMnemonic mnemonic) {
    const bool written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    const bool whole = operand.size >= 32 &&
                       (operand.actions & ZYDIS_OPERAND_ACTION_CONDWRITE) == 0 &&
                       !may_keep_destination(mnemonic);
    return {.field = field,
            .number = gpr_number(operand.reg.value),
            .high_byte = is_high_byte(operand.reg.value),
            .read = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 || !whole,
            .written = written,
            .width_bits = static_cast<std::uint8_t>(operand.size)};
}

GprUse address_use(ZydisRegister reg, GprField field) {
    return {.field = field,
            .number = gpr_number(reg),
            .high_byte = false,
            .read = true,
            .written = false,
            .width_bits = 64};
}

bool is_shift_or_rotate(ZydisInstructionCategory category, ZydisMnemonic mnemonic) {
    return category == ZYDIS_CATEGORY_SHIFT || category == ZYDIS_CATEGORY_ROTATE ||
           mnemonic == ZYDIS_MNEMONIC_SHLD || mnemonic == ZYDIS_MNEMONIC_SHRD;
}

}  // namespace

std::uint8_t gpr_number(ZydisRegister reg) {
    const auto whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return static_cast<std::uint8_t>(ZydisRegisterGetId(whole));
}

bool is_gpr(ZydisRegister reg) {
    const auto reg_class = ZydisRegisterGetClass(reg);
    return reg_class >= ZYDIS_REGCLASS_GPR8 && reg_class <= ZYDIS_REGCLASS_GPR64;
}

bool is_high_byte(ZydisRegister reg) {
    return reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;
}

std::optional<Instruction> Instruction::decode(std::span<const std::byte> bytes,
                                               GuestAddress address) {
    Instruction result;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), bytes.data(), bytes.size(), &result.zydis_,
                                             result.operands_.data())))
        return std::nullopt;
    std::memcpy(result.bytes_.data(), bytes.data(), result.zydis_.length);
    result.address_ = address;
    result.flow_ = classify(result.zydis_);
    if (result.flow_ == Flow::other && is_user_system(result.mnemonic())) result.flow_ = Flow::next;
    return result;
}

GuestAddress Instruction::branch_target() const {
    return next() + static_cast<std::uint64_t>(zydis_.raw.imm[0].value.s);
}

std::optional<std::uint8_t> Instruction::jcc_condition() const {
    const bool near = zydis_.opcode_map == ZYDIS_OPCODE_MAP_0F && (zydis_.opcode & 0xf0) == 0x80;
    const bool brief =
        zydis_.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (zydis_.opcode & 0xf0) == 0x70;
    if (!near && !brief) return std::nullopt;
    return static_cast<std::uint8_t>(zydis_.opcode & 0x0f);
}

const ZydisDecodedOperand* Instruction::modrm_memory() const {
    for (const auto& operand : operands())
        if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
            operand.encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM)
            return &operand;
    return nullptr;
}

bool Instruction::accesses_memory() const {
    return std::ranges::any_of(operands(), [](const ZydisDecodedOperand& operand) {
        return operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
               operand.mem.type != ZYDIS_MEMOP_TYPE_AGEN;
    });
}

bool Instruction::has_memory_operand() const {
    return std::any_of(operands().begin(), operands().end(), [](const auto& operand) {
        return operand.type == ZYDIS_OPERAND_TYPE_MEMORY;
    });
}

GprUses Instruction::gpr_uses() const {
    GprUses uses;
    for (const auto& operand : operands()) {
        const auto field = field_of(operand);
        if (!field) continue;
        if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && is_gpr(operand.reg.value))
            uses.add(register_use(operand, *field, mnemonic()));
        if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
        if (is_gpr(operand.mem.base)) uses.add(address_use(operand.mem.base, GprField::base));
        if (is_gpr(operand.mem.index)) uses.add(address_use(operand.mem.index, GprField::index));
    }
    return uses;
}

std::uint32_t Instruction::flags_read() const {
    // SYSCALL saves the flags in R11. Instructions of Flow::other may read them too.
    if (flow_ == Flow::syscall || flow_ == Flow::other) return status_flags;
    return zydis_.cpu_flags ? zydis_.cpu_flags->tested & status_flags : 0;
}

std::uint32_t Instruction::flags_killed() const {
    if (!zydis_.cpu_flags || is_repeated() || flow_ == Flow::syscall || flow_ == Flow::other)
        return 0;
    // These instructions leave the flags alone if their count is zero.
    if (is_shift_or_rotate(zydis_.meta.category, mnemonic())) return 0;
    const auto& flags = *zydis_.cpu_flags;
    const auto defined = flags.modified | flags.set_0 | flags.set_1;
    // Logic instructions leave only AF undefined, and no processor keeps its old value.
    return (defined | (defined ? flags.undefined & ZYDIS_CPUFLAG_AF : 0)) & status_flags;
}

bool Instruction::is_nondeterministic() const {
    switch (mnemonic()) {
        case ZYDIS_MNEMONIC_RDTSC:
        case ZYDIS_MNEMONIC_RDTSCP:
        case ZYDIS_MNEMONIC_RDPID:
        case ZYDIS_MNEMONIC_RDPMC:
        case ZYDIS_MNEMONIC_RDRAND:
        case ZYDIS_MNEMONIC_RDSEED:
        case ZYDIS_MNEMONIC_CPUID:
        case ZYDIS_MNEMONIC_XGETBV:
        case ZYDIS_MNEMONIC_XSAVE:
        case ZYDIS_MNEMONIC_XSAVE64:
        case ZYDIS_MNEMONIC_XSAVEC:
        case ZYDIS_MNEMONIC_XSAVEC64:
        case ZYDIS_MNEMONIC_XSAVEOPT:
        case ZYDIS_MNEMONIC_XSAVEOPT64:
        // These store the addresses of the x87 unit's last instruction and operand.
        case ZYDIS_MNEMONIC_FNSTENV:
        case ZYDIS_MNEMONIC_FNSAVE:
        case ZYDIS_MNEMONIC_FXSAVE:
        case ZYDIS_MNEMONIC_FXSAVE64:
            return true;
        default:
            return false;
    }
}

bool Instruction::may_keep_destination() const {
    return shadowprof::may_keep_destination(mnemonic());
}

bool Instruction::is_repeated() const {
    return has_attribute(ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

}  // namespace shadowprof
