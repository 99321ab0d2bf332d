// Numbers and names as a terminal shows them: short, no more digits than mean something, ASCII.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shadowprof {

// Exact below 10,000; above, three digits and k, M, G, T or P: "12.3 k".
std::string short_count(double count);
// "43.1%"; "0%" for nothing, "<0.1%" for next to nothing.
std::string percent(double share);
// "43%"; "<1%" for less than half of one.
std::string whole_percent(double share);
// From microseconds to hours, two or three digits: "41 us", "1.2 ms", "3.4 s".
std::string short_duration(double seconds);

// `text` without what would upset a terminal: control characters become '?'. Names out of files may
// hold anything.
std::string printable(std::string_view text);
// `text` in at most `width` columns; of a longer one the beginning and, behind "..", the end, cut
// between UTF-8 characters. Counts a character as a column.
std::string fit(std::string_view text, std::size_t width);
// `text` and blanks up to `width` columns; longer text stays.
std::string pad(std::string_view text, std::size_t width);
// Characters in UTF-8 text.
std::size_t columns(std::string_view text);
// What is behind the last slash.
std::string_view base_name(std::string_view path);

}  // namespace shadowprof
