// Makes cases of one instruction, or of several in a row with a branch among them.
#pragma once

#include <optional>
#include <vector>

#include "assignments.h"
#include "case.h"
#include "form.h"

namespace shadowprof {

struct Manner {
    std::uint64_t seed = 1;
    // Nothing reads or writes far from the guest's memory. Needed with sanitizers, which map so
    // much of the address space that a wild pointer may reach memory of the emulator's process.
    bool tame = false;
};

// Case number `instance` of a form. Equal arguments make equal cases.
std::optional<Case> make_case(const Form& form, std::uint64_t index, const Manner& manner,
                              std::uint64_t instance);

// Case number `number` of the form's assignments. It is tame, and all its memory is mapped, so that
// it has a result and not a fault.
std::optional<Case> make_assigned_case(const Form& form, std::uint64_t index,
                                       const Assignment& assignment, std::uint64_t seed,
                                       std::uint64_t number);

// The instructions of sequences, as indexes of forms.
struct Ingredients {
    std::vector<std::size_t> any;
    std::vector<std::size_t> flags;  // forms that write or keep flags, depending on operands

    void add(const std::vector<Form>& forms, std::size_t index);
};

struct Sequence {
    struct Part {
        std::uint32_t at, length;  // offset and length in the code
        std::size_t form;          // index of the form
    };
    Case test;
    std::vector<Part> parts;  // instructions made from ingredients
};

// Sequence number `instance`.
std::optional<Sequence> make_sequence(const std::vector<Form>& forms,
                                      const Ingredients& ingredients, const Manner& manner,
                                      std::uint64_t instance);
// Replaces an instruction by a no-operation of the same length: the other instructions keep their
// addresses, registers and memory.
void blank(Case& test, const Sequence::Part& part);
// Whether a form's instructions can be anywhere in a sequence.
bool fits_sequence(const Form& form, const Manner& manner);

}  // namespace shadowprof
