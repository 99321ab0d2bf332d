// Memory hazards: accesses that take a slow path of the processor because of their addresses or
// because of a store before them.
//
//  - A load is blocked behind the youngest older store to one of its bytes unless that store wrote
//  all
//    of them, so that its data could be forwarded (Intel 64 and IA-32 Architectures Optimization
//    Reference Manual, "Store Forwarding").
//  - 4 KiB aliasing: the load and the youngest such store access different bytes, but the low 12
//  bits
//    of their addresses overlap. Processors first compare these bits (the same manual, "4-KByte
//    Aliasing"; AMD's Software Optimization Guide for family 17h, 2.12).
//  - An access splits a cache line of 64 bytes, or a page of 4 KiB.
//
// Pairs are looked for in a ReorderWindow. As in the detection of replay traps of Burrows et al.,
// "Efficient and flexible value sampling" (ASPLOS 2000), a pair with a data dependence does not
// count: if the load's address is computed, through general registers, from a value that a load
// after the store read from the store's data, the load cannot have begun before the store. Nor does
// a pair count with a locked access, a fence or a system call between store and load.
//
// Approximations: dependences through flags, vector registers and instructions without a trace are
// not followed, so pairs are counted that such dependences keep apart. The latency of instructions
// is not known, so a store counts as long as it may be in the buffer. Stores of repeated string
// instructions, masked stores and stores of processor state are ignored, and so are such loads.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "profile/code/index_table.h"
#include "profile/collect/reference.h"
#include "profile/kinds/hazards/reorder_window.h"
#include "profile/profile.h"

namespace shadowprof {

class HazardFinder {
  public:
    struct Pair {
        HazardKind kind = HazardKind::line_split;
        ReferenceSite first = 0, second = 0;  // equal for a split
        std::uint64_t count = 0;
    };

    static constexpr std::size_t max_pairs = 1 << 18;

    explicit HazardFinder(const ReorderWindow& window);

    // Called where the next reference does not follow the last one, or waits for its stores.
    void forget();
    // Takes the accesses and register steps of one instruction after the other. Each hazard found
    // counts `weight` times.
    void take(const Reference& reference, std::uint64_t weight);

    const std::vector<Pair>& pairs() const { return pairs_; }
    // The number of hazards that were not counted because there were too many pairs.
    std::uint64_t left_out() const { return left_out_; }

  private:
    static constexpr unsigned max_stores = 128;
    static constexpr unsigned lines = 64;  // lines of a page
    // A set of places in stores_.
    __extension__ using Stores = unsigned __int128;
    struct Store {
        std::uint64_t address = 0;
        std::uint64_t instruction = 0;
        std::uint64_t number = 0;  // the store's number among all stores
        ReferenceSite site = 0;
        std::uint16_t bytes = 0;
        Stores made_of = 0;  // older stores whose data this store's data is made of
    };

    static constexpr Stores bit(unsigned place) { return Stores{1} << place; }
    static unsigned youngest(Stores turned);
    void load(const Reference& reference, std::uint64_t weight);
    void store(const Reference& reference);
    void note_splits(const Reference& reference, std::uint64_t weight);
    Stores behind(const Reference& reference) const;
    Stores made_of(std::uint16_t registers) const;
    Stores still_older(const Store& store) const;
    void count(HazardKind kind, ReferenceSite first, ReferenceSite second, std::uint64_t weight);

    const ReorderWindow window_;
    std::array<Store, max_stores> stores_;
    std::uint64_t next_store_ = 0;
    std::array<Stores, lines> by_line_{};  // by a line's index in its page
    std::array<Stores, 16> registers_{};   // stores whose data each general register is made of
    Stores loaded_ = 0;                    // the same for what the instruction has loaded
    std::vector<Pair> pairs_;
    IndexTable index_;
    std::uint64_t left_out_ = 0;
};

}  // namespace shadowprof
