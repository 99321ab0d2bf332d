// One test: a few instructions, their start state, and the outcomes. All of it is plain data in
// memory that processes share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/cpu_state.h"
#include "emu/trace/trace.h"

namespace shadowprof {

// The guest's memory: code, then writable data, then read-only data, with nothing mapped around
// each of them. It is placed low, where 32-bit addresses reach it, or high.
inline constexpr std::array<std::uint64_t, 2> placements = {0x1234'0000, 0x3456'7abc'0000};
inline constexpr std::size_t code_bytes = 4 * page_bytes;
inline constexpr std::size_t data_bytes = 4 * page_bytes;
inline constexpr std::size_t constant_bytes = page_bytes;
inline constexpr std::size_t memory_bytes = data_bytes + constant_bytes;
inline constexpr std::uint64_t data_offset = 0x10000;
inline constexpr std::uint64_t constant_offset = 0x18000;

// Fills the code pages around the code; executing it ends a test.
inline constexpr std::uint8_t end_marker = 0xcc;

struct Case {
    struct Patch {
        std::uint32_t offset;  // offset in the memory
        std::uint64_t value;
    };
    CpuState start;
    std::uint64_t form = 0;      // index of the form, or ~0 for a sequence
    std::uint64_t instance = 0;  // number among the cases with this form and seed
    bool assigned = false;       // `instance` counts assignments, not random cases
    std::uint8_t levels = (1 << trace_levels) - 1;  // levels at which it is emulated, one bit each
    std::uint64_t drawn = 0;                        // the next random number, unused
    std::uint8_t placement = 0;
    std::uint32_t code_at = 0;  // offset of `code` in the code pages
    std::uint32_t code_length = 0;
    std::uint32_t pool_at = 0;  // offset in the data pool of the memory's content
    std::uint32_t patches = 0;
    std::uint32_t undefined_flags = 0;  // left undefined by an instruction of the case
    std::uint32_t unknown_gprs = 0;     // bit by number: not a function of the start state
    std::uint32_t unknown_memory_at = 0, unknown_memory_bytes = 0;
    std::uint8_t instructions = 1;
    bool has_branch = false;
    std::array<std::uint8_t, 1024> code{};
    std::array<Patch, 96> patch{};
    std::uint32_t component_patch = no_patch;  // a mask of state components, including other hosts'

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
    fault,           // a fault of the guest
    single_stepped,  // emulated only: rip is at the instruction
    lost,            // the process died or did not end
};

struct Outcome {
    CpuState cpu;
    Ending ending = Ending::none;
    int signal = 0;
    GuestAddress fault_address;
    std::array<std::byte, memory_bytes> memory;
    std::array<char, 160> trace_problem{};  // text; empty if the trace is correct
};

struct Slot {
    Case test;
    bool done = false;  // the emulator has finished
    Outcome native;
    std::array<Outcome, trace_levels> emulated;
};

// Random bytes with many special values: zeroes, small numbers, limits, denormals, infinities.
std::span<const std::byte> data_pool();
// Fills the memory with a test's initial content.
void fill_memory(const Case& test, std::span<std::byte, memory_bytes> to);
// Fills the code pages of a test: its code, and end markers around it.
void fill_code(const Case& test, std::span<std::byte> to);

// A hash of everything that is the same on every host.
std::uint64_t digest(const Case& test);
// Removes what XRSTOR would refuse on this host. To be called after digest().
void adapt_to_host(Case& test);

// One line for each difference that matters; empty if there is none.
std::string compare(const Case& test, const Outcome& native, const Outcome& emulated);
// These print the instructions of a case, and the registers of an outcome.
std::string print_case(const Case& test);
std::string print_outcome(const Case& test, const Outcome& outcome);

}  // namespace shadowprof
