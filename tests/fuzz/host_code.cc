#include "host_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "decoder/instruction.h"

namespace shadowprof {
namespace {

constexpr std::uint8_t rsp_number = 4, rdi_number = 7;

bool is_stack_instruction(ZydisMnemonic mnemonic) {
    return mnemonic == ZYDIS_MNEMONIC_PUSH || mnemonic == ZYDIS_MNEMONIC_POP ||
           mnemonic == ZYDIS_MNEMONIC_PUSHFQ || mnemonic == ZYDIS_MNEMONIC_POPFQ ||
           mnemonic == ZYDIS_MNEMONIC_POPF;
}

class Check {
  public:
    Check(CodeCache& cache, const Instruction& in) : cache_(cache), in_(in) {}

    const char* run() const {
        if (const auto* wrong = flow()) return wrong;
        for (const auto& operand : in_.operands()) {
            if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && names_rsp(operand) && !moves_rsp())
                return "names host RSP";
            if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
                operand.mem.type != ZYDIS_MEMOP_TYPE_AGEN && !may_access(operand))
                return "accesses memory of the host";
        }
        return nullptr;
    }

  private:
    const char* flow() const;
    bool names_rsp(const ZydisDecodedOperand& operand) const {
        return operand.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN && is_gpr(operand.reg.value) &&
               !is_high_byte(operand.reg.value) && gpr_number(operand.reg.value) == rsp_number;
    }
    bool moves_rsp() const;
    bool corrects_record() const;
    bool may_access(const ZydisDecodedOperand& operand) const;
    bool in_context(const ZydisDecodedOperand& operand) const {
        const auto at = in_.next().value + static_cast<std::uint64_t>(operand.mem.disp.value);
        const auto context = reinterpret_cast<std::uintptr_t>(&cache_.context());
        return at >= context && at + operand.size / 8u <= context + sizeof(ExecutionContext);
    }

    CodeCache& cache_;
    const Instruction& in_;
};

const char* Check::flow() const {
    switch (in_.flow()) {
        case Flow::next:
            break;
        case Flow::conditional:
        case Flow::jump:
            return cache_.contains(in_.branch_target().value) ? nullptr : "jumps out of the cache";
        case Flow::indirect_jump:
            return in_.operands()[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                           gpr_number(in_.operands()[0].reg.value) == host::scratch_b
                       ? nullptr
                       : "jumps by another register than the translator's";
        default:
            return "leaves the ordinary";
    }
    switch (in_.mnemonic()) {
        // No prefix redirects the memory accesses of these, or they change which memory is
        // accessible.
        case ZYDIS_MNEMONIC_CLZERO:
        case ZYDIS_MNEMONIC_MONITOR:
        case ZYDIS_MNEMONIC_MONITORX:
        case ZYDIS_MNEMONIC_UMONITOR:
        case ZYDIS_MNEMONIC_MOVDIR64B:
        case ZYDIS_MNEMONIC_ENQCMD:
        case ZYDIS_MNEMONIC_ENQCMDS:
        case ZYDIS_MNEMONIC_WRPKRU:
            return "is not for translated code";
        default:
            return nullptr;
    }
}

// Whether it is LEA RSP, [RSP + x], LEA RSP, [RIP + context], or a MOV between RSP and the context.
bool Check::moves_rsp() const {
    if (in_.mnemonic() != ZYDIS_MNEMONIC_LEA && in_.mnemonic() != ZYDIS_MNEMONIC_MOV) return false;
    const auto* memory = in_.modrm_memory();
    if (!memory) return false;
    if (memory->mem.base == ZYDIS_REGISTER_RIP) return in_context(*memory);
    return in_.mnemonic() == ZYDIS_MNEMONIC_LEA && memory->mem.base == ZYDIS_REGISTER_RSP;
}

// Whether it is MOV dword [RSP + x], immediate, with x a multiple of a word: an early exit of a
// superblock uses it.
bool Check::corrects_record() const {
    constexpr std::array<std::uint8_t, 3> opcode = {0xc7, 0x84, 0x24};
    const auto bytes = in_.bytes();
    if (bytes.size() != 11 || !std::equal(opcode.begin(), opcode.end(), bytes.begin()))
        return false;
    const auto above = in_.operands()[0].mem.disp.value;
    return above >= 0 && above % 8 == 0 && above / 8 <= std::numeric_limits<std::uint16_t>::max();
}

bool Check::may_access(const ZydisDecodedOperand& operand) const {
    const auto& memory = operand.mem;
    if (in_.mnemonic() == ZYDIS_MNEMONIC_NOP) return true;
    if (corrects_record()) return true;
    if (memory.segment == ZYDIS_REGISTER_FS || memory.segment == ZYDIS_REGISTER_GS) return true;
    if (memory.base == ZYDIS_REGISTER_RIP) return in_context(operand);
    if (memory.base == ZYDIS_REGISTER_RSP) {
        const bool pushes = is_stack_instruction(in_.mnemonic());
        return pushes || (memory.index == ZYDIS_REGISTER_NONE && memory.disp.value < 0 &&
                          !(operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ));
    }
    // A string instruction uses the shifted pointer.
    if (in_.zydis().meta.category == ZYDIS_CATEGORY_STRINGOP ||
        in_.zydis().meta.category == ZYDIS_CATEGORY_IOSTRINGOP)
        return memory.segment == ZYDIS_REGISTER_ES && gpr_number(memory.base) == rdi_number;
    // Reads of the table of indirect branches are allowed.
    return in_.mnemonic() == ZYDIS_MNEMONIC_MOV && memory.base == ZYDIS_REGISTER_R10 &&
           memory.index == ZYDIS_REGISTER_R11 && memory.scale == sizeof(std::uint32_t) &&
           in_.operands()[0].reg.value == ZYDIS_REGISTER_R11D;
}

}  // namespace

std::string check_host_code(CodeCache& cache, std::span<const std::uint8_t> code) {
    for (std::size_t at = 0; at < code.size();) {
        const auto rest = code.subspan(at);
        const GuestAddress address{reinterpret_cast<std::uintptr_t>(rest.data())};
        const auto in = Instruction::decode(std::as_bytes(rest), address);
        const char* wrong = in ? Check(cache, *in).run() : "does not decode";
        if (wrong) {
            std::string bytes;
            for (auto b : rest.first(in ? in->length() : std::min<std::size_t>(15, rest.size())))
                bytes += fmt::format("{:02x}", b);
            return fmt::format("host code {} at {:#x}: {}", bytes, address.value, wrong);
        }
        at += in->length();
    }
    return {};
}

}  // namespace shadowprof
