// Forms that no case is made of, and why.
#pragma once

#include <optional>
#include <string_view>

#include "form.h"

namespace shadowprof {

// Nothing for a form that is tested.
std::optional<std::string_view> why_left_out(const Form& form);

}  // namespace shadowprof
