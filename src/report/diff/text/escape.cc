#include "report/diff/text/escape.h"

#include <fmt/format.h>

#include "base/text/text_format.h"

namespace shadowprof {
namespace {

std::string with_percents(std::string_view text, std::string_view special) {
    std::string out;
    for (const char c : text) {
        if (special.find(c) != std::string_view::npos)
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        else
            out += c;
    }
    return out;
}

// Like printable(), but keeps line ends.
std::string printable_lines(std::string_view text) {
    std::string out;
    for (std::size_t begin = 0;;) {
        const auto end = text.find_first_of("\r\n", begin);
        out += printable(text.substr(begin, end - begin));
        if (end == std::string_view::npos) return out;
        out += text[end];
        begin = end + 1;
    }
}

}  // namespace

std::string markdown_escaped(std::string_view text) {
    constexpr std::string_view special = R"(\`*_{}[]<>()#+-.!|&~@$^:/"'=)";
    std::string out;
    for (const char c : printable(text)) {
        if (special.find(c) != std::string_view::npos)
            out += fmt::format("&#{};", static_cast<int>(c));
        else
            out += c;
    }
    return out;
}

std::string workflow_message(std::string_view text) {
    return with_percents(printable_lines(text), "%\r\n");
}

std::string workflow_property(std::string_view text) {
    return with_percents(printable_lines(text), "%\r\n:,");
}

}  // namespace shadowprof
