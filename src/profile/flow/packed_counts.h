// A list of numbers with their counts, a few bytes each. It is written once and read in the same
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shadowprof {

class PackedCounts {
  public:
    void add(std::uint32_t id, std::uint64_t count) {
        put(id);
        put(count);
    }
    // Calls visit(id, count) for each.
    template <typename Visit>
    void for_each(Visit visit) const {
        for (std::size_t at = 0; at < bytes_.size();) {
            const auto id = static_cast<std::uint32_t>(get(at));
            visit(id, get(at));
        }
    }
    // Call it when nothing more is added.
    void shrink() { bytes_.shrink_to_fit(); }
    std::size_t bytes() const { return bytes_.size(); }

  private:
    // Seven bits a byte, the lowest first. All bytes of a number but the last have the eighth bit
    // set.
    void put(std::uint64_t number) {
        for (; number >= 0x80; number >>= 7)
            bytes_.push_back(static_cast<std::uint8_t>(number | 0x80));
        bytes_.push_back(static_cast<std::uint8_t>(number));
    }
    std::uint64_t get(std::size_t& at) const {
        std::uint64_t number = 0;
        for (unsigned shift = 0;; shift += 7) {
            const std::uint8_t byte = bytes_[at++];
            number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) return number;
        }
    }

    std::vector<std::uint8_t> bytes_;
};

}  // namespace shadowprof
