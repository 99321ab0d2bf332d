// Reproducible random numbers (SplitMix64), and choices made with them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shadowprof {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15;
        return mix(state_);
    }
    std::uint64_t below(std::uint64_t limit) { return next() % limit; }
    // A number from `low` to `high`, inclusive.
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
    }
    bool chance(unsigned percent) { return below(100) < percent; }
    std::uint8_t byte() { return static_cast<std::uint8_t>(next()); }
    template <typename Container>
    const auto& pick(const Container& from) {
        return from[below(from.size())];
    }

    // Mixes a number so that each of its bits matters.
    static constexpr std::uint64_t mix(std::uint64_t x) {
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
        x = (x ^ x >> 27) * 0x94d049bb133111eb;
        return x ^ x >> 31;
    }

  private:
    std::uint64_t state_;
};

}  // namespace shadowprof
