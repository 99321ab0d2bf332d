// The capabilities of the terminal.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "report/text/summary.h"

namespace shadowprof {

// Returns the options for text on `fd`: the terminal's width, and colours if it has them and the
// user has not set NO_COLOR (no-color.org).
TextOptions text_options(int fd);

// Goes to the begin of the cursor's line and erases it (ECMA-48, EL).
inline constexpr const char* erase_line = "\r\033[K";
// Shortens `text` so that it does not wrap on the terminal `out`, where erase_line could not erase
// all of it.
std::string fit_in_line(std::FILE* out, std::string_view text);

}  // namespace shadowprof
