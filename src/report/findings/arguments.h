// Finds the instructions that copy a function's arguments.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "report/annotate/annotation.h"

namespace shadowprof {

// Returns the instructions before the first branch that copy a whole argument register (System V
// ABI, 3.2.3) which still holds the caller's value. So their results are the values of arguments.
// Keys are indices into `code`, which begins at the function's entry; values are register names.
std::map<std::size_t, std::string> argument_copies(std::span<const AnnotatedInstruction> code);

// Returns a copied argument as short_value() does. A value passed in a vector register with only
// zeros behind the first 4 or 8 bytes is shown as a floating-point number (3.2.3, class SSE),
// wherever it was copied to.
std::string argument_text(const std::string& argument, const std::vector<std::byte>& value,
                          ValueType type);

}  // namespace shadowprof
