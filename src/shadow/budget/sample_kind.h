// The kinds of samples.
#pragma once

#include <cstdint>

namespace shadowprof {

// Of a copy-on-write replica of the program, or of the program itself while it stands still.
enum class SampleKind : std::uint8_t { shadow, live };

}  // namespace shadowprof
