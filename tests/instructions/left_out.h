// Which forms have no cases, which instructions the emulator does not translate, and why.
#pragma once

#include <optional>
#include <string_view>

#include "form.h"

namespace shadowprof {

// Returns why a form has no cases; nullopt for a form that is tested.
std::optional<std::string_view> why_left_out(const Form& form);

// Returns why the emulator may leave an instruction to the hardware; nullopt if it may not.
std::optional<std::string_view> why_single_stepped(const Instruction& instruction);

}  // namespace shadowprof
