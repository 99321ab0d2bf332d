// Tracks what is known about general registers within a block from the results that it has
// recorded, as a result that follows from others needs no word in the trace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "decoder/instruction.h"
#include "emu/trace/trace.h"

namespace shadowprof {

// What is known about the content of a general register.
struct KnownValue {
    // A slot of the same block that has words; with ValueSlot::no_source, `sum` is the whole
    // content.
    std::uint16_t source = ValueSlot::no_source;
    std::uint8_t source_bytes = 8;  // the slot's width
    // The content is this many low bytes of `sum` plus the slot's value, zero-extended.
    std::uint8_t width_bytes = 8;
    std::uint64_t sum = 0;

    bool is_constant() const { return source == ValueSlot::no_source; }
    friend bool operator==(const KnownValue&, const KnownValue&) = default;
};

class ValueTracker {
  public:
    // Begins a block, of which nothing is known.
    void begin() { known_ = {}; }

    // The first operand of an instruction with Flow::next after it has run; nothing if that does
    // not follow from what is known before it.
    std::optional<KnownValue> result_of(const Instruction& instruction) const;

    // Forgets the registers that an instruction writes to.
    void forget_written(const Instruction& instruction);
    void set(std::uint8_t gpr, const KnownValue& value) { known_[gpr] = value; }
    // The result in the register operand `written` of an instruction is in a slot with a word.
    void set_recorded(const Instruction& instruction, const ZydisDecodedOperand& written,
                      std::uint16_t slot);

    const std::optional<KnownValue>& operator[](std::uint8_t gpr) const { return known_[gpr]; }

  private:
    std::optional<KnownValue> read(ZydisRegister reg, std::uint8_t width_bytes) const;
    std::optional<KnownValue> address(const Instruction& lea, std::uint8_t width_bytes) const;

    std::array<std::optional<KnownValue>, 16> known_;
};

// The addend that gives `value` from its source slot; nothing if there is none for this width.
std::optional<std::int32_t> addend_of(const KnownValue& value, std::uint8_t width_bytes);

}  // namespace shadowprof
