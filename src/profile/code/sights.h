// Whether something was met before, in little space.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shadowprof {

// A bit for each hash. Two things may share a bit, so that a first time seldom counts as a second
// one. After some time all are forgotten.
class Sights {
  public:
    // Returns whether it is the first time. Only the upper bits of the hash count.
    bool is_first(std::uint64_t hash) {
        if (seen_.empty()) seen_.resize(std::size_t{1} << log2_bits);
        const auto place = static_cast<std::size_t>(hash >> (64 - log2_bits));
        if (seen_[place]) return false;
        if (sights_ == max_sights) forget();
        seen_[place] = true;
        ++sights_;
        return true;
    }
    void forget() {
        std::fill(seen_.begin(), seen_.end(), false);
        sights_ = 0;
    }

  private:
    static constexpr unsigned log2_bits = 21;
    // Few enough that most bits are unset.
    static constexpr std::size_t max_sights = 1 << 18;

    std::vector<bool> seen_;
    std::size_t sights_ = 0;
};

}  // namespace shadowprof
