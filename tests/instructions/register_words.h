// The general registers of a form: its fields, and their possible values up to renaming.
#pragma once

#include <cstdint>
#include <vector>

#include "encoding.h"
#include "form.h"

namespace shadowprof {

// A value of a field that names a general register, up to renaming. The translator treats R9, R10
// and R11 alike, and likewise all registers that stay in place: within each kind, only equality
// matters. Registers that the form uses without naming them are separate letters.
struct Letter {
    enum class Kind : std::uint8_t {
        none,       // an address without base or index
        rip,        // RIP as a base
        stack,      // RSP
        displaced,  // the first, second or third of R9 to R11
        ordinary,   // the first, second, ... of the others
        implicit,   // one that the form uses without naming it
        high_byte,  // AH to BH
    };
    Kind kind = Kind::none;
    std::uint8_t which = 0;
};
using Word = std::vector<Letter>;  // one letter for each field

// A field, and which letters it takes besides displaced and ordinary registers.
struct Field {
    enum class Place : std::uint8_t { reg, rm, vvvv, base, index };
    Place place;
    bool byte = false;  // 8 bits wide, in a legacy encoding
    bool vector_index = false;
};

// The fields that name general registers: ModRM.reg, ModRM.rm or the opcode, VEX.vvvv, base, index.
std::vector<Field> general_fields(const Instruction& in, Encoding::Kind encoding);
// The registers that an instruction uses without naming them, except RSP.
std::vector<std::uint8_t> implicit_registers(const Instruction& in);

// All encodable words in which displaced registers are numbered in order of appearance, and
// likewise the others: all other words are renamings of these.
std::vector<Word> all_words(const std::vector<Field>& fields, std::size_t implicit_registers);

bool has_high_byte(const Word& word);

}  // namespace shadowprof
