// What a terminal can show.
#pragma once

#include "report/text/summary.h"

namespace shadowprof {

// For text on `fd`: the terminal's width, and colours if it is a terminal that has them and the
// user has not set NO_COLOR (no-color.org).
TextOptions text_options(int fd);

}  // namespace shadowprof
