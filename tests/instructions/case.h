// One test: a few instructions, the state that they start from, and what came of them. All of it is
// plain data, which lies in memory that processes share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/cpu_state.h"
#include "emu/trace/trace.h"

namespace shadowprof {

// The guest's memory: code, then writable data, then data that can only be read, with nothing
// mapped around each of them. It is placed low, where 32-bit addresses reach it, or high.
inline constexpr std::array<std::uint64_t, 2> placements = {0x1234'0000, 0x3456'7abc'0000};
inline constexpr std::size_t code_bytes = 4 * page_bytes;
inline constexpr std::size_t data_bytes = 4 * page_bytes;
inline constexpr std::size_t constant_bytes = page_bytes;
inline constexpr std::size_t memory_bytes = data_bytes + constant_bytes;
inline constexpr std::uint64_t data_offset = 0x10000;
inline constexpr std::uint64_t constant_offset = 0x18000;

// Fills what is not code: reaching it ends a test.
inline constexpr std::uint8_t end_marker = 0xcc;

struct Case {
    struct Patch {
        std::uint32_t offset;  // into the memory
        std::uint64_t value;
    };
    CpuState start;
    std::uint64_t form = 0;      // its index, or ~0 for a sequence
    std::uint64_t instance = 0;  // which of the cases made from this form and seed
    bool assigned = false;       // `instance` counts assignments, not random cases
    std::uint8_t levels = (1 << trace_levels) - 1;  // bit by level: at which it is emulated
    std::uint64_t drawn = 0;                        // what the next random number would have been
    std::uint8_t placement = 0;
    std::uint32_t code_at = 0;  // of `code` in the code pages
    std::uint32_t code_length = 0;
    std::uint32_t pool_at = 0;  // where in the pool of data the memory's content begins
    std::uint32_t patches = 0;
    std::uint32_t undefined_flags = 0;  // left undefined by an instruction of the case
    std::uint32_t unknown_gprs = 0;     // bit by number: not a function of the start state
    std::uint32_t unknown_memory_at = 0, unknown_memory_bytes = 0;
    std::uint8_t instructions = 1;
    bool has_branch = false;
    std::array<std::uint8_t, 1024> code{};
    std::array<Patch, 96> patch{};
    std::uint32_t component_patch = no_patch;  // a mask of state components, also of other hosts'

    static constexpr std::uint32_t no_patch = ~std::uint32_t{0};

    std::uint64_t base() const { return placements[placement]; }
    GuestAddress code_start() const { return {base() + code_at}; }
    GuestAddress data() const { return {base() + data_offset}; }
    std::span<const std::uint8_t> code_span() const { return {code.data(), code_length}; }
    void add_patch(std::uint64_t offset, std::uint64_t value) {
        if (patches < patch.size() && offset + sizeof value <= memory_bytes)
            patch[patches++] = {static_cast<std::uint32_t>(offset), value};
    }
};

enum class Ending : std::uint8_t {
    none,
    marker,          // an end_marker was reached
    fault,           // of the guest
    single_stepped,  // emulated only: rip is at an instruction for the hardware
    lost,            // the process died or did not end
};

struct Outcome {
    CpuState cpu;
    Ending ending = Ending::none;
    int signal = 0;
    GuestAddress fault_address;
    std::array<std::byte, memory_bytes> memory;
    std::array<char, 160> trace_problem{};  // text, empty if the trace is as it should be
};

struct Slot {
    Case test;
    bool done = false;  // the emulator came to its end
    Outcome native;
    std::array<Outcome, trace_levels> emulated;
};

// Random bytes with many that mean something: zeroes, small numbers, limits, denormals, infinities.
std::span<const std::byte> data_pool();
// The start of a test's memory.
void fill_memory(const Case& test, std::span<std::byte, memory_bytes> to);
// The code pages of a test: end markers but for its code.
void fill_code(const Case& test, std::span<std::byte> to);

// A hash of all that is the same on every host.
std::uint64_t digest(const Case& test);
// Leaves out what XRSTOR would refuse here. Called behind digest().
void adapt_to_host(Case& test);

// One line for each difference that is one. `level` names the emulated side.
std::string compare(const Case& test, const Outcome& native, const Outcome& emulated);
// The instructions of a case, the states before and after.
std::string print_case(const Case& test);
std::string print_outcome(const Case& test, const Outcome& outcome);

}  // namespace shadowprof
