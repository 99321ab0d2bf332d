// A function's instructions with all that a profile knows about each of them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/instruction.h"
#include "profile/profile.h"

namespace shadowprof {

// A target of a branch and how often the branch led to it.
struct Successor {
    CodeLocation to;
    EdgeKind kind = EdgeKind::jump;
    std::uint64_t count = 0;
};

// Pointers are into the profile, views into the symbols.
struct AnnotatedInstruction {
    std::uint64_t address = 0;  // ELF virtual address
    std::string text;           // Intel syntax; empty if its bytes are no instruction
    std::array<std::byte, Instruction::max_length> bytes{};
    std::uint8_t length = 0;  // used bytes of `bytes`; 0 without the module's file
    // The instruction before in the list ends elsewhere than where this one begins, or its end is
    // unknown.
    bool behind_gap = false;
    // Nothing if unknown: the profile has no edges, or the module's file is not available.
    std::optional<std::uint64_t> executions;
    std::string_view file;              // source file, absolute if possible; empty if unknown
    std::uint32_t line = 0;             // 0 if unknown
    std::vector<Successor> successors;  // a branch's successors, most frequent first
    std::vector<const ValueProfile*> values;
    std::vector<const Hazard*> hazards;  // hazards whose later access this is
    const LoadLatency* latency = nullptr;
    const AddressPattern* addresses = nullptr;
    std::uint64_t time_ns = 0;  // see PlaceTime

    // Whether it was neither executed in a sample nor seen by a look.
    bool is_cold() const { return executions == std::uint64_t{0} && time_ns == 0; }
    // Nothing without bytes.
    std::optional<Instruction> decode() const;
    std::uint64_t times_left() const;   // the sum over `successors`
    bool is_conditional() const;        // whether it is a branch that may or may not be taken
    std::uint64_t times_taken() const;  // for a conditional branch
};

struct AnnotatedFunction {
    CodeLocation start;
    std::string name;                  // the result of function_name()
    double share = 0;                  // share of the profile's instructions, see HotFunctions
    std::optional<double> error;       // error of the share
    std::optional<double> time_share;  // set if the profile has times
    std::vector<AnnotatedInstruction> code;  // by ascending address
    // Whether the lines come from the module's own debug information and not from the profile. Only
    // then may the source files that it names be read.
    bool lines_are_of_file = false;
    // Why `code` has only what the profile itself names; empty if it is the whole function.
    std::string incomplete;
};

}  // namespace shadowprof
