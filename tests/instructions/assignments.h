// Which registers an instruction names, systematically: every way in which those of a form can be
// equal, different, displaced by the translator or left where they are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "encoding.h"
#include "form.h"

namespace shadowprof {

// What a form leaves open of the registers that it names.
struct Assignment {
    std::optional<std::uint8_t> reg, rm, vvvv, is4, mask;  // numbers, of whatever class it is
    std::optional<AddressFields> address;                  // without a displacement
    bool force_rex = false;                                // SPL to DIL are meant
    bool no_rex = false;                                   // AH to BH are meant
    bool prefixed = false;  // the address goes through FS or GS, or has 32 bits

    friend bool operator==(const Assignment&, const Assignment&) = default;
};

// In an order that depends on the form alone; `seed` chooses the names of registers that are as
// good as each other. See docs/verification.md for what is in the list.
std::vector<Assignment> assignments_of(const Form& form, std::uint64_t seed);

}  // namespace shadowprof
