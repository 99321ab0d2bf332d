// Numbers of probes as profiles spell them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shadowprof {

// So wide that a run's sums do not wrap around. Those of hostile profiles may.
__extension__ using ProbeSum = __int128;

// In decimal; a signed number as such.
std::string probe_number(std::uint64_t number, bool is_signed);

// "0x1f" or "-0x1f".
std::string sum_hex(ProbeSum sum);
// The reverse; nothing if it is not that, or does not fit.
std::optional<ProbeSum> parse_sum_hex(std::string_view text);

}  // namespace shadowprof
