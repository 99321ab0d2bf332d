// Numbers in hexadecimal, as profiles spell addresses and numbers that may exceed 2^53.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shadowprof {

// Returns "0x1f", with lower-case digits.
std::string hex_text(std::uint64_t number);
// Parses the result of hex_text(). Returns nothing if `text` is malformed or does not fit.
std::optional<std::uint64_t> parse_hex(std::string_view text);

}  // namespace shadowprof
