// Measures how long a scope takes.
#pragma once

#include <chrono>
#include <cstdint>

namespace shadowprof {

// Adds the time from its construction to its destruction to `nanoseconds`.
class Stopwatch {
  public:
    explicit Stopwatch(std::uint64_t& nanoseconds) : nanoseconds_(nanoseconds) {}
    ~Stopwatch() {
        const auto spent = std::chrono::steady_clock::now() - start_;
        nanoseconds_ += static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

  private:
    std::uint64_t& nanoseconds_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace shadowprof
