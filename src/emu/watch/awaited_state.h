// A state that a thread of the guest should reach, because the program itself reached it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu_state.h"
#include "base/guest_address.h"

namespace shadowprof {

// Registers and some memory. Memory is needed as some loops have the same registers on each
// iteration, and recursions differ only in callers' frames.
class AwaitedState {
  public:
    // Registers that are compared, at little cost, at each visit of `cpu.rip`. They should include
    // those that differ from visit to visit.
    static constexpr std::size_t telling_registers = 3;
    static constexpr std::size_t max_pieces = 160;
    static constexpr std::size_t max_bytes = 6144;  // in all pieces together

    CpuState cpu;
    std::array<std::uint8_t, telling_registers> telling = {};  // numbers as in Gpr

    std::uint64_t telling_sum() const {
        std::uint64_t sum = 0;
        for (const auto number : telling) sum += cpu.gpr[number % cpu.gpr.size()];
        return sum;
    }
    std::size_t pieces() const { return pieces_; }
    std::size_t bytes() const { return bytes_; }  // in all pieces together
    // False if there is no room.
    bool add_memory(GuestAddress at, std::span<const std::byte> content) {
        if (pieces_ == max_pieces || content.size() > max_bytes - bytes_) return false;
        piece_list_[pieces_++] = {at, static_cast<std::uint32_t>(content.size())};
        std::ranges::copy(content, bytes_begin());
        bytes_ += static_cast<std::uint32_t>(content.size());
        return true;
    }
    // Whether holds(at, content) is true for all memory. Sizes are checked, as the state may come
    // from another process.
    template <typename Holds>
    bool all_memory(Holds holds) const {
        std::size_t begin = 0;
        for (const auto& place :
             std::span(piece_list_).first(std::min<std::size_t>(pieces_, max_pieces))) {
            if (place.bytes > max_bytes - begin) return false;
            if (!holds(place.at, std::span(content_).subspan(begin, place.bytes))) return false;
            begin += place.bytes;
        }
        return true;
    }

  private:
    struct Piece {
        GuestAddress at;
        std::uint32_t bytes = 0;
    };

    std::byte* bytes_begin() { return content_.data() + bytes_; }

    std::uint32_t pieces_ = 0, bytes_ = 0;
    std::array<Piece, max_pieces> piece_list_ = {};
    std::array<std::byte, max_bytes> content_ = {};
};

}  // namespace shadowprof
