// What is wrong with the text of a probe, and where.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shadowprof {

struct ProbeError {
    std::size_t offset = 0;  // in bytes; the text's size if the error is at its end
    std::string message;
};

// Returns three lines without a newline at the end: the message, the wrong line of `text`, and a
// caret under the wrong character. Of a long line it shows the surroundings of that character.
std::string render(const ProbeError& error, std::string_view text);

}  // namespace shadowprof
