#include "left_out.h"

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

}  // namespace

std::optional<std::string_view> why_left_out(const Form& form) {
    for (const auto& row : rows)
        if (row.mnemonic == form.mnemonic) return row.reason;
    const auto in = decode(assemble(form.sample).span(), {0});
    if (in->zydis().meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return far;
    if (loads_segment(*in)) return segment;
    return std::nullopt;
}

}  // namespace shadowprof
