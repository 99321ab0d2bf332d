// Numbers in hexadecimal, as profiles spell addresses and what may pass 2^53.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shadowprof {

// "0x1f": lower-case digits.
std::string hex_text(std::uint64_t number);
// The reverse; nothing if it is not that, or does not fit.
std::optional<std::uint64_t> parse_hex(std::string_view text);

}  // namespace shadowprof
