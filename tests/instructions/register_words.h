// The general registers of a form: its fields, and all that can stand in them up to renaming.
#pragma once

#include <cstdint>
#include <vector>

#include "encoding.h"
#include "form.h"

namespace shadowprof {

// What a field that names a general register can hold, up to renaming. The translator treats R9,
// R10 and R11 alike, and all that stay in their place: of each kind, only which are equal counts.
// Registers that the form uses without naming them are letters of their own.
struct Letter {
    enum class Kind : std::uint8_t {
        none,       // an address without base or index
        rip,        // as a base
        stack,      // RSP
        displaced,  // the first, second or third of R9 to R11
        ordinary,   // the first, second, ... of the others
        implicit,   // one that the form uses without naming it
        high_byte,  // AH to BH
    };
    Kind kind = Kind::none;
    std::uint8_t which = 0;
};
using Word = std::vector<Letter>;  // one for each field

// A field, and which letters it takes beside displaced and ordinary registers.
struct Field {
    enum class Place : std::uint8_t { reg, rm, vvvv, base, index };
    Place place;
    bool byte = false;  // of 8 bits, in a legacy encoding
    bool vector_index = false;
};

// The fields that name general registers: ModRM.reg, ModRM.rm or the opcode, VEX.vvvv, base, index.
std::vector<Field> general_fields(const Instruction& in, Encoding::Kind encoding);
// The numbers of those that it uses without naming them, but for RSP.
std::vector<std::uint8_t> implicit_registers(const Instruction& in);

// All words over the letters that are instructions, in which the first displaced register to appear
// is the first, and so on: every other word is one of these with other names.
std::vector<Word> all_words(const std::vector<Field>& fields, std::size_t implicit_registers);

bool has_high_byte(const Word& word);

}  // namespace shadowprof
