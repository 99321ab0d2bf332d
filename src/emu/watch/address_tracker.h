// What the addresses of a block's accesses to memory have in common: so that one which follows from
// another needs no word in the trace.
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

    // A block begins, of which nothing is known.
    void begin();

    // How an address follows: from the word of the slot `source`, or, if that is
    // ReferenceSlot::no_source, from the address of the block's start; plus `addend`.
    struct Known {
        std::uint16_t source;
        std::int32_t addend;
    };
    // Nothing if it needs a word.
    std::optional<Known> known(const MemoryReference& reference, GuestAddress block_start) const;
    // From now on `slot` has a word, to which `addend` must be added for the reference's address.
    void set_recorded(const MemoryReference& reference, std::uint16_t slot, std::int64_t addend);

    // An instruction is executed, whose references were asked for before.
    void note(const Instruction& instruction);

    // The content of a general register: what is unknown of it, by a number, plus a constant. The
    // unknown that the block began with has the register's own number.
    struct Content {
        std::uint32_t unknown = 0;
        std::uint64_t offset = 0;
    };
    const Content& operator[](std::uint8_t gpr) const { return registers_[gpr]; }

  private:
    static constexpr std::uint32_t nothing = ~std::uint32_t{0};
    // An address but for a constant. Narrow ones have none.
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
        std::uint64_t constant = 0;  // of the address that is the word itself
        std::uint16_t slot = 0;
    };

    Address address_of(const MemoryReference& reference) const;
    void forget(std::uint8_t gpr) { registers_[gpr] = {next_++, 0}; }
    void forget_written(const Instruction& instruction);

    std::array<Content, 16> registers_;
    std::uint32_t fs_ = 0, gs_ = 0, next_ = 0;  // numbers of unknowns
    std::vector<Recorded> recorded_;
};

}  // namespace shadowprof
