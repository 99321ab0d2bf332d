// Systematic choices of the registers that an instruction names: every way in which they can be
// equal, different, displaced by the translator or left in place.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "encoding.h"
#include "form.h"

namespace shadowprof {

// The registers that a form leaves open.
struct Assignment {
    std::optional<std::uint8_t> reg, rm, vvvv, is4, mask;  // numbers within their class
    std::optional<AddressFields> address;                  // without a displacement
    bool force_rex = false;                                // the numbers name SPL to DIL
    bool no_rex = false;                                   // the numbers name AH to BH
    bool prefixed = false;  // the address uses FS or GS, or has 32 bits

    friend bool operator==(const Assignment&, const Assignment&) = default;
};

// All assignments, in an order that depends on the form only; `seed` chooses between equivalent
// registers. docs/verification.md describes the list.
std::vector<Assignment> assignments_of(const Form& form, std::uint64_t seed);

}  // namespace shadowprof
