// One access to memory, or one step of registers, as the collectors of references see it.
#pragma once

#include <cstdint>

#include "emu/trace/trace.h"

namespace shadowprof {

// Names an instruction that refers to memory, within one collector.
using ReferenceSite = std::uint32_t;

// See ReferenceSlot for what its fields mean.
struct Reference {
    std::uint64_t address = 0;
    std::uint64_t instruction = 0;  // executed, by number: what a burst begins with is any
    ReferenceSite site = 0;
    std::uint16_t bytes = 0;
    std::uint16_t flags = 0;
    std::uint16_t address_registers = 0;
    std::uint16_t read = 0;
    std::uint16_t written = 0;
    bool begins = true;  // the first of its instruction

    bool is(std::uint16_t flag) const { return (flags & flag) != 0; }
};

// More bytes than any register has: a processor state that is saved or loaded.
constexpr bool is_state_area(std::uint16_t bytes) {
    return bytes > 64;
}

}  // namespace shadowprof
