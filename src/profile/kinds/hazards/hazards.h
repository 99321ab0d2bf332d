// Memory hazards: accesses that take a slow path of the processor because of where they are, or
// because of a store before them.
//
//  - A load is blocked behind the youngest older store to one of its bytes unless that store has
//    all of them: then its data could be forwarded (Intel 64 and IA-32 Architectures Optimization
//    Reference Manual, "Store Forwarding").
//  - 4 KiB aliasing: the load's bytes and those of the youngest such store are others, but the low
//    12 bits of the addresses overlap, by which processors first look for them (the same, "4-KByte
//    Aliasing"; AMD's Software Optimization Guide for family 17h, 2.12).
//  - An access splits a cache line of 64 bytes, or a page of 4 KiB.
//
// Pairs are looked for in a ReorderWindow. As in the detection of replay traps of Burrows et al.,
// "Efficient and flexible value sampling" (ASPLOS 2000), accesses between which there is a
// dependence of data do not count: a load whose address is made, through general registers, of what
// a load behind the store has read of the store's data cannot have begun before the store. Nor do
// those with a locked access, a fence or a system call between them.
//
// What is approximated: dependences through flags, vector registers and the instructions that the
// trace tells nothing of are not followed, so that pairs are counted which they keep apart; how
// long instructions take is not known, so that a store counts as long as it may be in the buffer.
// Stores of repeated string instructions, masked ones and those of processor state are not looked
// at, nor are such loads.
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
        ReferenceSite first = 0, second = 0;  // the same of a split
        std::uint64_t count = 0;
    };

    static constexpr std::size_t most_pairs = 1 << 18;

    explicit HazardFinder(const ReorderWindow& window);

    // What comes next does not follow what came last, or waits for its stores.
    void forget();
    // Executes the accesses, and steps of registers, of one instruction after the other. What is
    // found counts `weight` times.
    void take(const Reference& reference, std::uint64_t weight);

    const std::vector<Pair>& pairs() const { return pairs_; }
    // Hazards that were not counted, as there were too many pairs.
    std::uint64_t left_out() const { return left_out_; }

  private:
    static constexpr unsigned most_stores = 128;
    static constexpr unsigned lines = 64;  // of a page
    // Places of stores.
    __extension__ using Stores = unsigned __int128;
    struct Store {
        std::uint64_t address = 0;
        std::uint64_t instruction = 0;
        std::uint64_t number = 0;  // of all stores
        ReferenceSite site = 0;
        std::uint16_t bytes = 0;
        Stores made_of = 0;  // older ones
    };

    static constexpr Stores bit(unsigned place) { return Stores{1} << place; }
    static unsigned youngest(Stores turned);
    void load(const Reference& reference, std::uint64_t weight);
    void store(const Reference& reference);
    void look_for_splits(const Reference& reference, std::uint64_t weight);
    Stores behind(const Reference& reference) const;
    Stores made_of(std::uint16_t registers) const;
    Stores still_older(const Store& store) const;
    void count(HazardKind kind, ReferenceSite first, ReferenceSite second, std::uint64_t weight);

    const ReorderWindow window_;
    std::array<Store, most_stores> stores_;
    std::uint64_t next_store_ = 0;
    std::array<Stores, lines> by_line_{};  // by the line's place in its page
    std::array<Stores, 16> registers_{};   // stores whose data general registers are made of
    Stores loaded_ = 0;                    // the same of what the instruction has loaded
    std::vector<Pair> pairs_;
    IndexTable index_;
    std::uint64_t left_out_ = 0;
};

}  // namespace shadowprof
