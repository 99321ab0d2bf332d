// Numbers and names as a terminal shows them: short, with only significant digits, in ASCII.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shadowprof {

// Exact below 10,000. Above, three digits and k, M, G, T or P: "12.3 k".
std::string short_count(double count);
// "43.1%". "0%" for zero, "<0.1%" for less than half of 0.1%.
std::string percent(double share);
// "43%". "<1%" for less than half of 1%.
std::string whole_percent(double share);
// Takes seconds. Two or three digits, from microseconds to hours: "41 us", "1.2 ms", "3.4 s".
std::string short_duration(double seconds);

// Replaces control characters, which would upset a terminal, by '?'. Names from files may hold any
// bytes.
std::string printable(std::string_view text);
// Returns the beginning of `text` that takes at most `width` columns. Cuts between characters.
std::string_view cut_columns(std::string_view text, std::size_t width);
// Shortens `text` to at most `width` columns: keeps its beginning and its end, with ".." between
// them. Cuts between UTF-8 characters, and counts each character as one column.
std::string fit(std::string_view text, std::size_t width);
// Breaks `text` at blanks into lines of at most `width` columns. Longer words are fitted.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);
// Appends blanks up to `width` columns. Longer text stays as it is.
std::string pad(std::string_view text, std::size_t width);
// Counts the characters of UTF-8 text.
std::size_t columns(std::string_view text);
// Returns the part after the last slash.
std::string_view base_name(std::string_view path);

}  // namespace shadowprof
