#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "case.h"
#include "decoder/instruction.h"
#include "random.h"

namespace shadowprof {
namespace {

constexpr std::size_t pool_bytes = std::size_t{1} << 18;

constexpr std::array<std::string_view, 16> gpr_names = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                                        "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                                        "r12", "r13", "r14", "r15"};
constexpr std::array<std::string_view, 5> ending_names = {"none", "marker", "fault",
                                                          "single-stepped", "lost"};
// Status flags, DF, AC and ID.
constexpr std::uint64_t compared_flags = 0x240cd5;

// Parts of the XSAVE area (Intel SDM vol. 1, 13.4), without the x87 unit's pointers.
struct Part {
    std::string_view name;
    std::size_t begin, end, unit;
};
constexpr std::array<Part, 6> parts = {{
    {"x87 control", 0, 2, 2},
    {"x87 status and tags", 2, 5, 3},
    {"mxcsr", 24, 28, 4},
    {"x87 registers", 32, 160, 16},
    {"xmm", 160, 416, 16},
    {"upper vector state", 576, CpuState::xsave_bytes, 16},
}};

void put_special(std::span<std::byte> to, Random& random) {
    static const std::array<float, 8> singles = {0.0f,
                                                 -0.0f,
                                                 1.0f,
                                                 std::numeric_limits<float>::denorm_min(),
                                                 1e-40f,
                                                 std::numeric_limits<float>::infinity(),
                                                 std::numeric_limits<float>::quiet_NaN(),
                                                 std::numeric_limits<float>::max()};
    static const std::array<double, 8> doubles = {0.0,
                                                  -0.0,
                                                  -1.0,
                                                  std::numeric_limits<double>::denorm_min(),
                                                  1e-310,
                                                  -std::numeric_limits<double>::infinity(),
                                                  std::numeric_limits<double>::signaling_NaN(),
                                                  std::numeric_limits<double>::max()};
    std::uint64_t value = 0;
    switch (random.below(7)) {
        case 0:
            value = 0;
            break;
        case 1:
            value = ~std::uint64_t{0};
            break;
        case 2:
            value = random.next() >> random.below(64);
            break;
        case 3:
            value = std::bit_cast<std::uint64_t>(random.pick(doubles));
            break;
        case 4:
            value = std::uint64_t{std::bit_cast<std::uint32_t>(random.pick(singles))} << 32 |
                    std::bit_cast<std::uint32_t>(random.pick(singles));
            break;
        case 5:
            value =
                std::bit_cast<std::uint64_t>(static_cast<double>(random.between(-99999, 99999)));
            break;
        default:
            value = random.next();
    }
    std::memcpy(to.data(), &value, sizeof value);
}

// #SS is raised if an address based on RSP or RBP is not canonical; with a GS prefix it is #GP.
bool is_stack_fault(const Outcome& native, const Outcome& emulated) {
    return native.signal == SIGBUS && emulated.signal == SIGSEGV &&
           native.fault_address == GuestAddress{};
}

// The kernel reports non-canonical addresses too when it emulates SLDT, STR or SMSW, and addresses
// of the kernel's half need not be canonical once shifted.
std::uint64_t reported(GuestAddress fault) {
    return fault.value >> 47 == 0 ? fault.value : 0;
}

void add(std::string& out, std::string_view name, std::uint64_t native, std::uint64_t emulated) {
    if (native != emulated)
        out += fmt::format("  {}: native {:#x}, emulated {:#x}\n", name, native, emulated);
}

std::string hex(const std::byte* from, std::size_t bytes) {
    std::string text;
    for (std::size_t i = bytes; i-- > 0;) text += fmt::format("{:02x}", static_cast<int>(from[i]));
    return text;
}

void compare_registers(const Case& test, const CpuState& native, const CpuState& emulated,
                       bool faulted, std::string& out) {
    for (std::size_t i = 0; i < gpr_names.size(); ++i)
        if (!(test.unknown_gprs >> i & 1)) add(out, gpr_names[i], native.gpr[i], emulated.gpr[i]);
    add(out, "rip", native.rip.value, emulated.rip.value);
    auto flags = compared_flags & ~std::uint64_t{test.undefined_flags};
    // An indirect branch clobbers flags that its target overwrites before reading them. Then a
    // fault shows other flags.
    if (test.has_branch && faulted) flags &= ~std::uint64_t{status_flags};
    add(out, "rflags", native.rflags & flags, emulated.rflags & flags);
    add(out, "fs base", native.fs_base, emulated.fs_base);
    add(out, "gs base", native.gs_base, emulated.gs_base);
    for (const auto& part : parts)
        for (auto at = part.begin; at < part.end; at += part.unit) {
            const auto *ours = native.xsave.data() + at, *theirs = emulated.xsave.data() + at;
            if (std::memcmp(ours, theirs, part.unit) != 0)
                out += fmt::format("  {} {} (byte {}): native {}, emulated {}\n", part.name,
                                   (at - part.begin) / part.unit, at, hex(ours, part.unit),
                                   hex(theirs, part.unit));
        }
}

void compare_memory(const Case& test, const Outcome& native, const Outcome& emulated,
                    std::string& out) {
    if (std::memcmp(native.memory.data(), emulated.memory.data(), memory_bytes) == 0) return;
    int shown = 0;
    for (std::size_t i = 0; i < memory_bytes && shown < 8; ++i) {
        if (native.memory[i] == emulated.memory[i]) continue;
        if (i - test.unknown_memory_at < test.unknown_memory_bytes) continue;
        ++shown;
        out += fmt::format("  memory at data + {:#x}: native {:#04x}, emulated {:#04x}\n", i,
                           static_cast<unsigned>(native.memory[i]),
                           static_cast<unsigned>(emulated.memory[i]));
    }
}

// No effect may be visible before an instruction is single-stepped.
void compare_single_stepped(const Case& test, const Outcome& emulated, std::string& out) {
    if (test.instructions != 1) return;
    Case exact = test;
    exact.undefined_flags = exact.unknown_gprs = 0;
    compare_registers(exact, test.start, emulated.cpu, false, out);
    Outcome before;
    fill_memory(test, before.memory);
    compare_memory(exact, before, emulated, out);
    if (!out.empty()) out = "  (native: the state before the instruction)\n" + out;
}

}  // namespace

std::span<const std::byte> data_pool() {
    static const auto pool = [] {
        std::vector<std::byte> bytes(pool_bytes);
        Random random(0x5eed);
        for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8)
            put_special(std::span(bytes).subspan(at, 8), random);
        return bytes;
    }();
    return pool;
}

void fill_memory(const Case& test, std::span<std::byte, memory_bytes> to) {
    std::memcpy(to.data(), data_pool().data() + test.pool_at, memory_bytes);
    for (std::size_t i = 0; i < test.patches; ++i)
        std::memcpy(to.data() + test.patch[i].offset, &test.patch[i].value, 8);
}

void fill_code(const Case& test, std::span<std::byte> to) {
    std::memset(to.data(), end_marker, to.size());
    std::memcpy(to.data() + test.code_at, test.code.data(), test.code_length);
}

std::string compare(const Case& test, const Outcome& native, const Outcome& emulated) {
    std::string out;
    if (emulated.ending == Ending::single_stepped) {
        compare_single_stepped(test, emulated, out);
        return out;
    }
    if (native.ending != emulated.ending ||
        (native.signal != emulated.signal && !is_stack_fault(native, emulated)))
        out +=
            fmt::format("  ending: native {} (signal {}), emulated {} (signal {})\n",
                        ending_names[static_cast<std::size_t>(native.ending)], native.signal,
                        ending_names[static_cast<std::size_t>(emulated.ending)], emulated.signal);
    if (emulated.ending == Ending::lost) return out;
    add(out, "fault address", reported(native.fault_address), reported(emulated.fault_address));
    compare_registers(test, native.cpu, emulated.cpu, native.ending == Ending::fault, out);
    compare_memory(test, native, emulated, out);
    if (emulated.trace_problem[0]) out += fmt::format("  {}\n", emulated.trace_problem.data());
    return out;
}

std::string print_case(const Case& test) {
    std::string out;
    ZydisFormatter formatter;
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    for (std::size_t at = 0; at < test.code_length;) {
        const auto rest = test.code_span().subspan(at);
        const auto in = Instruction::decode(std::as_bytes(rest), test.code_start() + at);
        const auto length = in ? in->length() : 1;
        std::array<char, 160> text{};
        if (in)
            ZydisFormatterFormatInstruction(&formatter, &in->zydis(), in->operands().data(),
                                            in->zydis().operand_count_visible, text.data(),
                                            text.size(), in->address().value, nullptr);
        std::string bytes;
        for (std::size_t i = 0; i < length; ++i) bytes += fmt::format("{:02x}", rest[i]);
        if (rest[0] != end_marker)
            out += fmt::format("  {:#x}: {:<30} {}\n", test.code_start().value + at, bytes,
                               text.data());
        at += length;
    }
    return out;
}

std::string print_outcome(const Case& test, const Outcome& outcome) {
    const auto& cpu = outcome.cpu;
    std::string out = fmt::format("    ending: {} signal {} fault address {:#x} data at {:#x}\n",
                                  ending_names[static_cast<std::size_t>(outcome.ending)],
                                  outcome.signal, outcome.fault_address.value, test.data().value);
    for (std::size_t i = 0; i < gpr_names.size(); ++i)
        out += fmt::format("    {:<3} {:016x}{}", gpr_names[i], cpu.gpr[i], i % 4 == 3 ? "\n" : "");
    out += fmt::format("    rip {:#x} rflags {:#x} fs base {:#x} gs base {:#x}\n", cpu.rip.value,
                       cpu.rflags, cpu.fs_base, cpu.gs_base);
    for (const auto& part : parts) {
        out += fmt::format("    {}:", part.name);
        for (auto at = part.begin; at < part.end; at += part.unit)
            out += " " + hex(cpu.xsave.data() + at, part.unit);
        out += "\n";
    }
    return out;
}

}  // namespace shadowprof
