#include "start_state.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/xsave_layout.h"
#include "instance.h"

namespace shadowprof {
namespace {

// Offsets in the XSAVE area (Intel SDM vol. 1, 13.4).
constexpr std::size_t fcw_at = 0, fsw_at = 2, ftw_at = 4, mxcsr_at = 24, st_at = 32, xmm_at = 160;
constexpr std::size_t xstate_bv_at = 512;
constexpr unsigned avx = 2, opmask = 5, zmm_high = 6, zmm_16_up = 7;
constexpr std::size_t masks = 8;

struct Component {
    unsigned number;
    std::size_t bytes;  // the same on every host that has it
};
constexpr std::array<Component, 3> vector_components = {
    {{avx, 256}, {zmm_high, 512}, {zmm_16_up, 1024}}};

// The offset of a byte of a vector register, if the host has it. Both numbers determine its
// component.
std::optional<std::size_t> vector_at(unsigned reg, unsigned byte) {
    const auto in = [](unsigned component, std::size_t at) -> std::optional<std::size_t> {
        const auto range = host_xsave_range(component);
        if (at >= range.size) return std::nullopt;
        return range.offset + at;
    };
    if (reg >= 16) return in(zmm_16_up, std::size_t{64} * (reg - 16) + byte);
    if (byte < 16) return xmm_at + 16 * reg + byte;
    if (byte < 32) return in(avx, std::size_t{16} * reg + byte - 16);
    return in(zmm_high, std::size_t{32} * reg + byte - 32);
}

template <typename T>
void put(CpuState& cpu, std::size_t at, T value) {
    std::memcpy(cpu.xsave.data() + at, &value, sizeof value);
}

void fill(CpuState& cpu, XsaveRange where, Random& random) {
    const auto pool = data_pool();
    std::memcpy(cpu.xsave.data() + where.offset,
                pool.data() + random.below(pool.size() - where.size), where.size);
}

// Sets the summary bits of the status word: whether an unmasked exception is pending.
void settle_summary(CpuState& cpu) {
    std::uint16_t control, status;
    std::memcpy(&control, cpu.xsave.data() + fcw_at, sizeof control);
    std::memcpy(&status, cpu.xsave.data() + fsw_at, sizeof status);
    const bool pending = status & ~control & 0x3f;
    put(cpu, fsw_at, static_cast<std::uint16_t>((status & 0x7f7f) | (pending ? 0x8080 : 0)));
}

void randomize_x87(CpuState& cpu, Random& random) {
    constexpr std::uint16_t usual_control = 0x37f;
    put(cpu, fcw_at, usual_control);
    if (random.chance(30))
        put(cpu, fcw_at, static_cast<std::uint16_t>((random.next() & 0xf40) | 0x7f));
    if (random.chance(5))
        put(cpu, fcw_at, static_cast<std::uint16_t>((random.next() & 0xf3f) | 0x40));
    // Sometimes exceptions are pending; the summary bits follow from them.
    put(cpu, fsw_at, static_cast<std::uint16_t>(random.next() & 0x7f00));
    if (random.chance(10)) put(cpu, fsw_at, static_cast<std::uint16_t>(random.next() & 0x7f7f));
    settle_summary(cpu);
    put(cpu, ftw_at, random.chance(50) ? std::uint8_t{0xff} : random.byte());
    for (std::size_t i = 0; i < 8; ++i) {
        fill(cpu, {st_at + 16 * i, 10}, random);
        // Mostly a normal number, with its integer bit set.
        if (random.chance(70)) {
            put(cpu, st_at + 16 * i, random.next() | 1ull << 63);
            put(cpu, st_at + 16 * i + 8,
                static_cast<std::uint16_t>(random.between(0x3fc0, 0x4040)));
        }
    }
}

// Random numbers are drawn on every host, also for components that it lacks.
void randomize_vectors(CpuState& cpu, Random& random) {
    const auto pool = data_pool();
    for (const auto& component : vector_components) {
        const auto at = random.below(pool.size() - component.bytes);
        const auto to = host_xsave_range(component.number);
        std::memcpy(cpu.xsave.data() + to.offset, pool.data() + at,
                    std::min(component.bytes, to.size));
    }
    const auto to = host_xsave_range(opmask);
    for (std::size_t i = 0; i < masks; ++i) {
        const auto value = interesting_number(random);
        if (8 * (i + 1) <= to.size) put(cpu, to.offset + 8 * i, value);
    }
}

std::uint64_t segment_base(const Case& test, Random& random) {
    // Not above the memory: with the delta added, the base must be one that the processor accepts.
    if (random.chance(60)) return test.data().value - (random.next() >> 36);
    return random.chance(40) ? 0 : random.next() >> 36;
}

}  // namespace

void randomize_state(Case& test, Random& random) {
    auto& cpu = test.start;
    test.placement = random.byte() & 1;
    test.pool_at = static_cast<std::uint32_t>(random.below(data_pool().size() - memory_bytes));
    test.code_at = static_cast<std::uint32_t>(300 + random.below(code_bytes - 1400));
    for (auto& reg : cpu.gpr) reg = interesting_number(random);
    cpu[Gpr::rsp] = choose_target(test.base(), 64, 8, random);
    cpu.rip = test.code_start();
    cpu.rflags = 0x202 | (random.next() & 0x8d5);
    if (random.chance(25)) cpu.rflags |= 0x400;
    cpu.fs_base = segment_base(test, random);
    cpu.gs_base = segment_base(test, random);

    cpu.xsave.fill(std::byte{0});
    put(cpu, mxcsr_at, std::uint32_t{0x1f80});
    if (random.chance(30))
        put(cpu, mxcsr_at, static_cast<std::uint32_t>((random.next() & 0xe07f) | 0x1f80));
    if (random.chance(4)) put(cpu, mxcsr_at, static_cast<std::uint32_t>(random.next() & 0xffff));
    put(cpu, xstate_bv_at, host_xsave_components());
    randomize_x87(cpu, random);
    fill(cpu, {xmm_at, 256}, random);
    randomize_vectors(cpu, random);
}

void set_vector_bytes(CpuState& cpu, unsigned reg, unsigned byte,
                      std::span<const std::byte> value) {
    const auto at = vector_at(reg, byte);
    if (at && *at + value.size() <= cpu.xsave.size())
        std::memcpy(cpu.xsave.data() + *at, value.data(), value.size());
}

std::array<std::byte, 64> vector_register(const CpuState& cpu, unsigned reg) {
    std::array<std::byte, 64> result{};
    for (unsigned i = 0; i < result.size(); ++i)
        if (const auto at = vector_at(reg, i)) result[i] = cpu.xsave[*at];
    return result;
}

}  // namespace shadowprof
