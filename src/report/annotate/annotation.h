// A function's instructions, each with all that a profile knows of it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/instruction.h"
#include "profile/profile.h"

namespace shadowprof {

// Where an instruction led.
struct Successor {
    CodeLocation to;
    EdgeKind kind = EdgeKind::jump;
    std::uint64_t count = 0;
};

// Pointers are into the profile, views into the symbols that it was made of.
struct AnnotatedInstruction {
    std::uint64_t address = 0;  // ELF virtual address
    std::string text;           // Intel syntax; empty if its bytes are no instruction
    std::array<std::byte, Instruction::max_length> bytes{};
    std::uint8_t length = 0;  // of what is in `bytes`; 0 where the file is not at hand
    // The one before it in the list does not end where this one begins, or that is not known.
    bool behind_gap = false;
    // Nothing: not known, as the profile has no edges, or the module's file cannot be had.
    std::optional<std::uint64_t> executions;
    std::string_view file;              // of the source, absolute if it can be; empty if unknown
    std::uint32_t line = 0;             // 0 if unknown
    std::vector<Successor> successors;  // of a branch, most frequent first
    std::vector<const ValueProfile*> values;
    std::vector<const Hazard*> hazards;  // whose later access it is
    const LoadLatency* latency = nullptr;
    const AddressPattern* addresses = nullptr;
    std::uint64_t time_ns = 0;  // of the kernel's clock, see ClockTicks

    // Neither executed in a sample, nor where the clock ticked.
    bool is_cold() const { return executions == std::uint64_t{0} && time_ns == 0; }
    // Nothing without bytes.
    std::optional<Instruction> decode() const;
    std::uint64_t times_left() const;   // the sum over `successors`
    bool is_conditional() const;        // a branch that was taken or not
    std::uint64_t times_taken() const;  // of a conditional branch
};

struct AnnotatedFunction {
    CodeLocation start;
    std::string name;                        // as function_name() has it
    double share = 0;                        // of the profile's instructions, see HotFunctions
    std::optional<double> error;             // of the share
    std::optional<double> time_share;        // where the kernel's clock was read
    std::vector<AnnotatedInstruction> code;  // by rising address
    // Its lines are what the module's own debug information says, not the profile: only then may
    // the files that it names be read.
    bool lines_are_of_file = false;
    // Why `code` is only what the profile itself names; empty if it is all of the function.
    std::string incomplete;
};

}  // namespace shadowprof
