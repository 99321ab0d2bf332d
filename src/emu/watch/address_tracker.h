// Tracks what the addresses of a block's memory accesses have in common, as an address that follows
// from another one needs no word in the trace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "decoder/memory_references.h"

namespace shadowprof {

class AddressTracker {
  public:
    AddressTracker() { begin(); }

    // Begins a block, of which nothing is known.
    void begin();

    // How an address is computed: the word of the slot `source` plus `addend`; if `source` is
    // ReferenceSlot::no_source, the address of the block's start plus `addend`.
    struct Known {
        std::uint16_t source;
        std::int32_t addend;
    };
    // Nothing if the address needs a word.
    std::optional<Known> known(const MemoryReference& reference, GuestAddress block_start) const;
    // From now on `slot` has a word; the reference's address is the word plus `addend`.
    void set_recorded(const MemoryReference& reference, std::uint16_t slot, std::int64_t addend);

    // Notes that an instruction is executed. Its references must have been asked for before.
    void note(const Instruction& instruction);

    // The content of a general register: the number of an unknown, plus a constant. A register's
    // unknown at the block's beginning has the register's own number.
    struct Content {
        std::uint32_t unknown = 0;
        std::uint64_t offset = 0;
    };
    const Content& operator[](std::uint8_t gpr) const { return registers_[gpr]; }

  private:
    static constexpr std::uint32_t nothing = ~std::uint32_t{0};
    // An address without its constant part. Addresses of 32 bits have none.
    struct Shape {
        std::uint32_t base = nothing, index = nothing, segment = nothing;
        std::uint8_t scale = 1;

        friend bool operator==(const Shape&, const Shape&) = default;
    };
    struct Address {
        Shape shape;
        std::uint64_t constant = 0;
    };
    struct Recorded {
        Shape shape;
        std::uint64_t constant = 0;  // constant part of the word
        std::uint16_t slot = 0;
    };

    Address address_of(const MemoryReference& reference) const;
    void forget(std::uint8_t gpr) { registers_[gpr] = {next_++, 0}; }
    void forget_written(const Instruction& instruction);

    std::array<Content, 16> registers_;
    std::uint32_t fs_ = 0, gs_ = 0, next_ = 0;  // numbers of unknowns; next_ is the next free one
    std::vector<Recorded> recorded_;
};

}  // namespace shadowprof
