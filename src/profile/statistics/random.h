// Seeded random numbers, so that every random choice of a collector can be repeated.
#pragma once

#include <cmath>
#include <cstdint>

namespace shadowprof {

// One step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which is also a good 64-bit mixing
// function.
constexpr std::uint64_t mix64(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t result = mix64(state_);
        state_ += 0x9e3779b97f4a7c15;
        return result;
    }
    // Uniform in (0, 1]: never 0, so that its logarithm is finite.
    double unit() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }
    bool coin(double heads) { return unit() <= heads; }

    // Tails before the first heads of a coin whose heads come with probability 1/`mean_tosses`.
    std::uint64_t tails_before_heads(double mean_tosses) {
        if (mean_tosses <= 1) return 0;
        double tails = std::floor(std::log(unit()) / std::log1p(-1 / mean_tosses));
        return tails < 0x1p62 ? static_cast<std::uint64_t>(tails) : std::uint64_t{1} << 62;
    }

  private:
    std::uint64_t state_;
};

}  // namespace shadowprof
