#include "left_out.h"

#include "emu/guest/segment_bases.h"

namespace shadowprof {
namespace {

struct Row {
    ZydisMnemonic mnemonic;
    std::string_view reason;
};

constexpr std::string_view kernel = "enters the kernel: what happens then is a system call's test";
constexpr std::string_view marker = "ends a test, or is told apart from its end by nothing";
constexpr std::string_view far = "loads CS: the process would go on in another mode";
constexpr std::string_view hypervisor = "calls the hypervisor";
constexpr std::string_view segment = "loads a segment register, which CpuState does not carry";

constexpr Row rows[] = {
    {ZYDIS_MNEMONIC_SYSCALL, kernel},    {ZYDIS_MNEMONIC_SYSENTER, kernel},
    {ZYDIS_MNEMONIC_INT, kernel},        {ZYDIS_MNEMONIC_INT3, marker},
    {ZYDIS_MNEMONIC_INT1, marker},       {ZYDIS_MNEMONIC_IRET, far},
    {ZYDIS_MNEMONIC_IRETD, far},         {ZYDIS_MNEMONIC_IRETQ, far},
    {ZYDIS_MNEMONIC_VMCALL, hypervisor}, {ZYDIS_MNEMONIC_VMMCALL, hypervisor},
    {ZYDIS_MNEMONIC_LFS, segment},       {ZYDIS_MNEMONIC_LGS, segment},
    {ZYDIS_MNEMONIC_LSS, segment},
};

bool loads_segment(const Instruction& in) {
    for (const auto& o : in.operands())
        if (o.type == ZYDIS_OPERAND_TYPE_REGISTER &&
            o.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
            (o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
            ZydisRegisterGetClass(o.reg.value) == ZYDIS_REGCLASS_SEGMENT)
            return true;
    return false;
}

bool is_rare(ZydisMnemonic mnemonic) {
    switch (mnemonic) {
        case ZYDIS_MNEMONIC_CLZERO:
        case ZYDIS_MNEMONIC_MONITOR:
        case ZYDIS_MNEMONIC_MONITORX:
        case ZYDIS_MNEMONIC_MOVDIR64B:
        case ZYDIS_MNEMONIC_ENQCMD:
        case ZYDIS_MNEMONIC_ENQCMDS:
        case ZYDIS_MNEMONIC_UMONITOR:
            return true;
        default:
            return false;
    }
}

// Whether the guest's segment base is added by code (segment_bases.h).
bool has_added_base(const Instruction& in) {
    return in.has_attribute(ZYDIS_ATTRIB_HAS_SEGMENT_GS) ||
           (host_segment_bases() == SegmentBases::by_kernel &&
            in.has_attribute(ZYDIS_ATTRIB_HAS_SEGMENT_FS));
}

bool is_of_segment_bases(ZydisMnemonic mnemonic) {
    return mnemonic == ZYDIS_MNEMONIC_RDFSBASE || mnemonic == ZYDIS_MNEMONIC_RDGSBASE ||
           mnemonic == ZYDIS_MNEMONIC_WRFSBASE || mnemonic == ZYDIS_MNEMONIC_WRGSBASE;
}

bool names_high_byte(const Instruction& in) {
    for (const auto& use : in.gpr_uses())
        if (use.high_byte) return true;
    return false;
}

bool names_segment(const Instruction& in) {
    return !in.operands().empty() && in.operands()[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           ZydisRegisterGetClass(in.operands()[0].reg.value) == ZYDIS_REGCLASS_SEGMENT;
}

}  // namespace

std::optional<std::string_view> why_single_stepped(const Instruction& in) {
    const auto& z = in.zydis();
    const bool narrow_address = z.address_width == 32;
    const auto* memory = in.modrm_memory();
    if (in.flow() == Flow::other || z.meta.category == ZYDIS_CATEGORY_IOSTRINGOP)
        return "privileged, far, transactional, or a branch of 16 bits";
    if (is_rare(in.mnemonic())) return "addresses memory in a way that no segment prefix reaches";
    if (in.mnemonic() == ZYDIS_MNEMONIC_SGDT || in.mnemonic() == ZYDIS_MNEMONIC_SIDT)
        return "shows the kernel's tables";
    if (in.mnemonic() == ZYDIS_MNEMONIC_RDPKRU || in.mnemonic() == ZYDIS_MNEMONIC_WRPKRU)
        return "rights of protection keys, which a sample does not carry";
    if (z.meta.category == ZYDIS_CATEGORY_AMX_TILE) return "tiles, which a sample does not carry";
    if (z.meta.category == ZYDIS_CATEGORY_STRINGOP && (narrow_address || has_added_base(in)))
        return "string instruction with 32-bit addresses or an added base";
    if (!memory && in.has_memory_operand() && has_added_base(in))
        return "an added base without a ModRM operand";
    if (is_of_segment_bases(in.mnemonic()) && host_segment_bases() == SegmentBases::by_kernel)
        return "segment bases, of which only the kernel decides here";
    if (names_segment(in)) return "reads a segment register";
    if (in.mnemonic() == ZYDIS_MNEMONIC_ENTER && z.operand_width == 16) return "16-bit ENTER";
    if (names_high_byte(in)) return "AH to BH beside RSP, or with nothing to lend";
    if (memory && narrow_address && in.mnemonic() >= ZYDIS_MNEMONIC_BT &&
        in.mnemonic() <= ZYDIS_MNEMONIC_BTS)
        return "bit number in a register counts within a 32-bit address";
    if (memory && memory->mem.type == ZYDIS_MEMOP_TYPE_VSIB && has_added_base(in))
        return "gather or scatter with an added base, 32-bit addresses or no base of its own";
    return std::nullopt;
}

std::optional<std::string_view> why_left_out(const Form& form) {
    for (const auto& row : rows)
        if (row.mnemonic == form.mnemonic) return row.reason;
    const auto in = decode(assemble(form.sample).span(), {0});
    if (in->zydis().meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return far;
    if (loads_segment(*in)) return segment;
    return std::nullopt;
}

}  // namespace shadowprof
