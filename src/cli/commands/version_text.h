// The text of `shadowprof --version`.
#pragma once

#include <string>

namespace shadowprof {

// The first line has the name and the version. The others say how the program was built, a fact a
// line: its name, blanks, its value.
std::string version_text();

}  // namespace shadowprof
