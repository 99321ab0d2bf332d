// Which instructions copy a function's arguments.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "report/annotate/annotation.h"

namespace shadowprof {

// By index into `code`, which begins at the function's entry: instructions before the first branch
// that copy a whole argument register (System V ABI, 3.2.3) which still holds what the caller put
// there, and the register's name. So their results are the values of arguments.
std::map<std::size_t, std::string> argument_copies(std::span<const AnnotatedInstruction> code);

// A copy of an argument, as short_value() has it; but what was passed in a vector register,
// with nothing but zeros behind 4 or 8 bytes, is a floating-point number (3.2.3, class SSE),
// wherever it was copied to.
std::string argument_text(const std::string& argument, const std::vector<std::byte>& value,
                          ValueType type);

}  // namespace shadowprof
