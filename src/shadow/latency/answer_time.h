// What tells that the timing code was kept from its work.
#pragma once

#include <chrono>

namespace shadowprof {

// An answer that takes longer waited for a processor: on the program's, somebody else ran
// meanwhile, and what the load found in the caches was not what the program had left there.
inline constexpr std::chrono::microseconds longest_answer{50};

}  // namespace shadowprof
