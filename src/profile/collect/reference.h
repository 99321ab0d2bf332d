// One access to memory, or one step of registers, as the collectors of references see it.
#pragma once

#include <cstdint>

#include "emu/trace/trace.h"

namespace shadowprof {

// Numbers an instruction that refers to memory, within one collector.
using ReferenceSite = std::uint32_t;

// See ReferenceSlot for the meaning of the fields.
struct Reference {
    std::uint64_t address = 0;
    std::uint64_t instruction = 0;  // number of the executed instruction; a burst begins with any
                                    // number
    ReferenceSite site = 0;
    std::uint16_t bytes = 0;
    std::uint16_t flags = 0;
    std::uint16_t address_registers = 0;
    std::uint16_t read = 0;
    std::uint16_t written = 0;
    bool begins = true;  // the instruction's first reference

    bool is(std::uint16_t flag) const { return (flags & flag) != 0; }
};

// True for accesses wider than any register, which save or load a processor state.
constexpr bool is_state_area(std::uint16_t bytes) {
    return bytes > 64;
}

}  // namespace shadowprof
