// Makes cases: one instruction, or several in a row with a branch among them.
#pragma once

#include <optional>
#include <vector>

#include "case.h"
#include "form.h"

namespace shadowprof {

// The case number `instance` of a form. The same arguments make the same case.
std::optional<Case> make_case(const Form& form, std::uint64_t index, std::uint64_t seed,
                              std::uint64_t instance);

// The sequence number `instance`, of forms that `usable` lists by index.
std::optional<Case> make_sequence(const std::vector<Form>& forms,
                                  const std::vector<std::size_t>& usable, std::uint64_t seed,
                                  std::uint64_t instance);
// Whether a form's instructions can stand anywhere in a sequence.
bool fits_sequence(const Form& form);

}  // namespace shadowprof
