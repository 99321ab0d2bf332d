// The kinds of samples.
#pragma once

#include <cstdint>

namespace shadowprof {

// A shadow sample emulates a copy-on-write replica. A live sample emulates the program itself,
// which stands still meanwhile.
enum class SampleKind : std::uint8_t { shadow, live };

}  // namespace shadowprof
