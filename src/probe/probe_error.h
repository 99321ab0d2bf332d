// What is wrong with the text of a probe, and where.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shadowprof {

struct ProbeError {
    std::size_t offset = 0;  // in bytes; the text's size: at its end
    std::string message;
};

// Three lines without a newline at the end: the message, the line of `text` that is wrong, and a
// caret under the character. Of a long line, what surrounds that.
std::string render(const ProbeError& error, std::string_view text);

}  // namespace shadowprof
