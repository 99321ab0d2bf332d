// Which forms have no cases, which instructions the emulator does not translate, and why.
#pragma once

#include <optional>
#include <string_view>

#include "form.h"

namespace shadowprof {

// Nothing for a form that is tested.
std::optional<std::string_view> why_left_out(const Form& form);

// Why the emulator may leave an instruction to the hardware; nothing if it may not.
std::optional<std::string_view> why_single_stepped(const Instruction& instruction);

}  // namespace shadowprof
