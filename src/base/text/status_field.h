// Texts with one line per field, as the kernel writes them. Parsers must expect hostile text: a
// process chooses its name.
#pragma once

#include <algorithm>
#include <string_view>

namespace shadowprof {

// Returns the rest of the line "NAME:<blanks>rest", without the blanks, or nothing if there is no
// such line. Some files have another separator than the colon.
inline std::string_view status_field(std::string_view text, std::string_view name,
                                     char separator = ':') {
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.size() <= name.size() || line[name.size()] != separator) continue;
        if (!line.starts_with(name)) continue;
        line.remove_prefix(name.size() + 1);
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        return line;
    }
    return {};
}

}  // namespace shadowprof
