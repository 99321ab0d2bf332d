// The forms of instructions: what remains of an encoding when it no longer matters which register,
// address or constant it names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decoder/instruction.h"
#include "encoding.h"

namespace shadowprof {

struct Form {
    Encoding sample;  // one encoding of this form
    ZydisMnemonic mnemonic;
    std::uint64_t key;  // two instructions are of one form if their keys are equal
};

std::uint64_t form_key(const Instruction& instruction);

std::optional<Instruction> decode(std::span<const std::uint8_t> bytes, GuestAddress address);

// Every form that Zydis decodes in 64-bit mode, found by trying all prefixes, opcodes and register
// numbers that can tell forms apart: legacy encodings, VEX, EVEX and XOP.
std::vector<Form> enumerate_forms();

// Whether Zydis' encoder makes an instruction of the same form from what its decoder says of it.
bool encodable_by_zydis(const Form& form);

std::string describe(const Form& form);

}  // namespace shadowprof
