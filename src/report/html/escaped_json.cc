#include "report/html/escaped_json.h"

#include <array>
#include <utility>

namespace shadowprof {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> escapes = {{
    {"<", "\\u003c"},
    {"\xe2\x80\xa8", "\\u2028"},
    {"\xe2\x80\xa9", "\\u2029"},
}};

}  // namespace

Result<void> EscapedJson::write(std::string_view json) {
    buffer_.clear();
    while (!json.empty()) {
        const auto plain = std::min(json.find_first_of("<\xe2"), json.size());
        buffer_ += json.substr(0, plain);
        json.remove_prefix(plain);
        if (json.empty()) break;
        std::string_view from = json.substr(0, 1), to = from;
        for (const auto& [character, escape] : escapes)
            if (json.starts_with(character)) from = character, to = escape;
        buffer_ += to;
        json.remove_prefix(from.size());
    }
    return sink_.write(buffer_);
}

}  // namespace shadowprof
