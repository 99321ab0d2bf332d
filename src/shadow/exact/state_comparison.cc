#include "shadow/exact/state_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "decoder/decode_at.h"
#include "decoder/instruction.h"

namespace shadowprof {
namespace {

constexpr std::array<std::string_view, 16> gpr_names = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                                        "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                                        "r12", "r13", "r14", "r15"};

// Flags that user code can see or set: status flags, DF, AC, ID.
constexpr std::uint64_t compared_flags = 0x240cd5;

// Parts of the XSAVE area (Intel SDM vol. 1, 13.4): [begin, end).
struct Part {
    std::string_view name;
    std::size_t begin, end;
};
constexpr std::array<Part, 5> legacy_parts = {{
    {"x87 control, status and tags", 0, 6},  // up to the last opcode and the pointers
    {"mxcsr", 24, 28},
    {"x87 registers", 32, 160},
    {"xmm registers", 160, 416},
    {"upper vector state", 576, CpuState::xsave_bytes},
}};

void compare(std::string_view name, std::uint64_t native, std::uint64_t emulated,
             std::vector<std::string>& out) {
    if (native != emulated)
        out.push_back(fmt::format("{}: native {:#x}, emulated {:#x}", name, native, emulated));
}

}  // namespace

std::vector<std::string> differences(const CpuState& native, const CpuState& emulated) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < gpr_names.size(); ++i)
        compare(gpr_names[i], native.gpr[i], emulated.gpr[i], out);
    compare("rip", native.rip.value, emulated.rip.value, out);
    compare("rflags", native.rflags & compared_flags, emulated.rflags & compared_flags, out);
    compare("fs base", native.fs_base, emulated.fs_base, out);
    compare("gs base", native.gs_base, emulated.gs_base, out);
    for (const auto& part : legacy_parts) {
        const auto begin = native.xsave.begin() + static_cast<std::ptrdiff_t>(part.begin);
        const auto end = native.xsave.begin() + static_cast<std::ptrdiff_t>(part.end);
        const auto other = emulated.xsave.begin() + static_cast<std::ptrdiff_t>(part.begin);
        const auto at = std::mismatch(begin, end, other);
        if (at.first != end)
            out.push_back(fmt::format("{}: byte {} native {:#04x}, emulated {:#04x}", part.name,
                                      at.first - native.xsave.begin(),
                                      static_cast<unsigned>(*at.first),
                                      static_cast<unsigned>(*at.second)));
    }
    return out;
}

std::vector<std::string> differences(const ComparedMessage& memory) {
    std::vector<std::string> lines;
    const auto known =
        std::min<std::uint64_t>(memory.pages_different, ComparedMessage::max_differences);
    for (const auto& d : std::span(memory.differences).first(known))
        lines.push_back(fmt::format("memory at {:#x}: native {:#04x}, emulated {:#04x}",
                                    d.address.value, d.native, d.emulated));
    return lines;
}

void adopt_dead_flags(const CpuState& native, CpuState& emulated, MemoryReader& memory) {
    std::uint64_t dead = 0, alive = 0;
    for (auto at = native.rip; (dead | alive) != status_flags;) {
        const auto in = decode_at(memory, at);
        if (!in) break;
        alive |= in->flags_read() & ~dead;
        dead |= in->flags_killed() & ~alive;
        if (in->flow() != Flow::next) break;
        at = in->next();
    }
    emulated.rflags = (emulated.rflags & ~dead) | (native.rflags & dead);
}

std::string general_registers(const CpuState& cpu) {
    std::string text;
    for (std::size_t i = 0; i < gpr_names.size(); ++i)
        text += fmt::format("{} {:#x} ", gpr_names[i], cpu.gpr[i]);
    return text + fmt::format("rflags {:#x}", cpu.rflags & compared_flags);
}

}  // namespace shadowprof
