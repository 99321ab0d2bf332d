// The spelling of probes' numbers in profiles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shadowprof {

// Wide enough for the sums of any run. Sums in hostile profiles may wrap around.
__extension__ using ProbeSum = __int128;

// Returns the number in decimal, as a signed one if `is_signed`.
std::string probe_number(std::uint64_t number, bool is_signed);

// "0x1f" or "-0x1f".
std::string sum_hex(ProbeSum sum);
// The reverse of sum_hex(). Nothing if the text is not of that form or does not fit.
std::optional<ProbeSum> parse_sum_hex(std::string_view text);

}  // namespace shadowprof
