// The capabilities of the terminal.
#pragma once

#include "report/text/summary.h"

namespace shadowprof {

// Returns the options for text on `fd`: the terminal's width, and colours if it has them and the
// user has not set NO_COLOR (no-color.org).
TextOptions text_options(int fd);

}  // namespace shadowprof
