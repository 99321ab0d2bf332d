// Makes cases: one instruction, or several in a row with a branch among them.
#pragma once

#include <optional>
#include <vector>

#include "case.h"
#include "form.h"

namespace shadowprof {

struct Manner {
    std::uint64_t seed = 1;
    // Nothing reads or writes far from the guest's memory: sanitizers map so much of the address
    // space that the emulator's process has memory wherever a wild pointer leads.
    bool tame = false;
};

// The case number `instance` of a form. The same arguments make the same case.
std::optional<Case> make_case(const Form& form, std::uint64_t index, const Manner& manner,
                              std::uint64_t instance);

// What sequences are made of: indexes of forms.
struct Ingredients {
    std::vector<std::size_t> any;
    std::vector<std::size_t> flags;  // those that write flags or leave them, as their operands say

    void add(const std::vector<Form>& forms, std::size_t index);
};

// The sequence number `instance`.
std::optional<Case> make_sequence(const std::vector<Form>& forms, const Ingredients& ingredients,
                                  const Manner& manner, std::uint64_t instance);
// Whether a form's instructions can stand anywhere in a sequence.
bool fits_sequence(const Form& form, const Manner& manner);

}  // namespace shadowprof
