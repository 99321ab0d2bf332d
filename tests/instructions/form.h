// Forms of instructions: what remains of an encoding without its particular registers, addresses
// and constants.
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
    std::uint64_t key;  // equal keys mean the same form
};

std::uint64_t form_key(const Instruction& instruction);

std::optional<Instruction> decode(std::span<const std::uint8_t> bytes, GuestAddress address);

// Every form that Zydis decodes in 64-bit mode. Found by trying all prefixes, opcodes and register
// numbers that can tell forms apart: legacy encodings, VEX, EVEX and XOP.
std::vector<Form> enumerate_forms();

// Whether Zydis' encoder makes an instruction of the same form from its decoder's output.
bool encodable_by_zydis(const Form& form);

std::string describe(const Form& form);

}  // namespace shadowprof
