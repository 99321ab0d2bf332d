// Makes cases: one instruction, or several in a row with a branch among them.
#pragma once

#include <optional>
#include <vector>

#include "assignments.h"
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

// Number `number` of the form's assignments. Tame, and where everything is mapped, so that its
// result counts and not its fault.
std::optional<Case> make_assigned_case(const Form& form, std::uint64_t index,
                                       const Assignment& assignment, std::uint64_t seed,
                                       std::uint64_t number);

// What sequences are made of: indexes of forms.
struct Ingredients {
    std::vector<std::size_t> any;
    std::vector<std::size_t> flags;  // those that write flags or leave them, as their operands say

    void add(const std::vector<Form>& forms, std::size_t index);
};

struct Sequence {
    struct Part {
        std::uint32_t at, length;  // in the code
        std::size_t form;          // its index
    };
    Case test;
    std::vector<Part> parts;  // the instructions that were made of ingredients
};

// The sequence number `instance`.
std::optional<Sequence> make_sequence(const std::vector<Form>& forms,
                                      const Ingredients& ingredients, const Manner& manner,
                                      std::uint64_t instance);
// Puts a no-operation of the same length in an instruction's place: all others keep their
// addresses, registers and memory.
void blank(Case& test, const Sequence::Part& part);
// Whether a form's instructions can stand anywhere in a sequence.
bool fits_sequence(const Form& form, const Manner& manner);

}  // namespace shadowprof
