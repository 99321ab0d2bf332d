// What is known of the general registers within a block, from the results that it has recorded: so
// that results which follow from those need no word in the trace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "decoder/instruction.h"
#include "emu/trace/trace.h"

namespace shadowprof {

// The content of a general register.
struct KnownValue {
    // A slot with words of the same block; ValueSlot::no_source: `sum` is the whole content.
    std::uint16_t source = ValueSlot::no_source;
    std::uint8_t source_bytes = 8;  // the slot's width
    // The content is this many low bytes of the sum of `sum` and the slot's value, zero-extended.
    std::uint8_t width_bytes = 8;
    std::uint64_t sum = 0;

    bool is_constant() const { return source == ValueSlot::no_source; }
    friend bool operator==(const KnownValue&, const KnownValue&) = default;
};

class ValueTracker {
  public:
    // A block begins, of which nothing is known.
    void begin() { known_ = {}; }

    // What the first operand of an instruction with Flow::next is after it; nothing if that does
    // not follow from what is known before it.
    std::optional<KnownValue> result_of(const Instruction& instruction) const;

    // Forgets the registers that an instruction writes to.
    void forget_written(const Instruction& instruction);
    void set(std::uint8_t gpr, const KnownValue& value) { known_[gpr] = value; }
    // The result that an instruction leaves in its register operand `written` is that of a slot
    // with a word.
    void set_recorded(const Instruction& instruction, const ZydisDecodedOperand& written,
                      std::uint16_t slot);

    const std::optional<KnownValue>& operator[](std::uint8_t gpr) const { return known_[gpr]; }

  private:
    std::optional<KnownValue> read(ZydisRegister reg, std::uint8_t width_bytes) const;
    std::optional<KnownValue> address(const Instruction& lea, std::uint8_t width_bytes) const;

    std::array<std::optional<KnownValue>, 16> known_;
};

// A slot's addend that makes `value` of its source; nothing if there is none for its width.
std::optional<std::int32_t> addend_of(const KnownValue& value, std::uint8_t width_bytes);

}  // namespace shadowprof
