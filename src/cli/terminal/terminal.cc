#include "cli/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/text/text_format.h"

namespace shadowprof {

TextOptions text_options(int fd) {
    TextOptions options;
    if (!isatty(fd)) return options;
    winsize size = {};
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) options.width = size.ws_col;
    const char* terminal = std::getenv("TERM");
    const char* no_colour = std::getenv("NO_COLOR");
    options.colour = terminal != nullptr && std::string_view(terminal) != "dumb" &&
                     (no_colour == nullptr || *no_colour == '\0');
    return options;
}

// Behind a character in the last column, some terminals are in the next line.
std::string fit_in_line(std::FILE* out, std::string_view text) {
    return fit(text, text_options(::fileno(out)).width - 1);
}

}  // namespace shadowprof
