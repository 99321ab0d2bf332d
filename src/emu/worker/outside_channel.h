// The only way in which code inside a confined worker can ask its supervisor for something.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"

namespace shadowprof {

class OutsideChannel {
  public:
    // The longest request or answer.
    static constexpr std::size_t max_bytes = 128 * 1024;

    virtual ~OutsideChannel() = default;
    // Sends a request and waits for the supervisor's answer. Only the two ends know what the bytes
    // mean. The supervisor treats a request as hostile input.
    virtual Result<std::vector<std::byte>> call(std::span<const std::byte> request) = 0;
};

}  // namespace shadowprof
