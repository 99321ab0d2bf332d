// An instruction's encoding, split up so that single register fields, the memory operand and the
// prefixes can be replaced (Intel SDM vol. 2, chapter 2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "decoder/instruction.h"

namespace shadowprof {

class InstructionBytes {
  public:
    // Nothing for unsupported encodings (3DNow!, XOP).
    static std::optional<InstructionBytes> parse(const Instruction& instruction);

    void set_gpr(GprField field, std::uint8_t number);
    // Replaces the memory operand by [base], with no index and no displacement.
    void set_memory_base_only(std::uint8_t base);
    // Replaces the memory operand by [disp32], sign-extended and not relative to RIP.
    void set_memory_absolute(std::int32_t address);
    // Turns the instruction into `lea reg, [its memory operand]` with 64-bit operand size.
    void make_lea(std::uint8_t reg);

    // 0x64 (FS) or 0x65 (GS), or 0 for none.
    std::uint8_t segment() const { return segment_; }
    void set_segment(std::uint8_t prefix) { segment_ = prefix; }
    bool has_address_size_prefix() const { return address_size_; }
    void drop_address_size_prefix() { address_size_ = false; }
    // Whether the encoding has REX, VEX or EVEX bits, with which AH..BH cannot be named.
    bool excludes_high_bytes() const { return kind_ != Kind::legacy || has_rex_; }

    // The encoded bytes; empty if there would be more than 15.
    std::span<const std::uint8_t> emit();

  private:
    enum class Kind : std::uint8_t { legacy, vex, evex };
    enum class Extension : std::uint8_t { r, x, b };

    InstructionBytes() = default;
    void read_prefixes(std::span<const std::uint8_t> bytes, std::size_t& at);
    bool read_vector_prefix(std::span<const std::uint8_t> bytes, std::size_t& at);
    void read_tail(const Instruction& instruction, std::size_t at);
    void set_extension(Extension which, bool on);
    void append(std::uint8_t byte) {
        if (length_ < out_.size()) out_[length_] = byte;
        ++length_;
    }

    Kind kind_ = Kind::legacy;
    std::uint8_t segment_ = 0;
    bool address_size_ = false;
    bool has_rex_ = false;
    std::uint8_t rex_ = 0x40;
    std::array<std::uint8_t, 3> vector_prefix_{};  // VEX payload (2 bytes) or EVEX payload (3)
    std::array<std::uint8_t, 8> legacy_{};         // without segment and address size
    std::uint8_t legacy_count_ = 0;
    std::array<std::uint8_t, 3> opcode_{};
    std::uint8_t opcode_count_ = 0;
    bool has_modrm_ = false;
    bool has_sib_ = false;
    std::uint8_t modrm_ = 0;
    std::uint8_t sib_ = 0;
    std::array<std::uint8_t, 8> displacement_{};
    std::uint8_t displacement_count_ = 0;
    std::int32_t effective_displacement_ = 0;  // with an 8-bit displacement of EVEX scaled
    std::array<std::uint8_t, 10> tail_{};      // immediates or absolute addresses
    std::uint8_t tail_count_ = 0;
    std::array<std::uint8_t, Instruction::max_length> out_{};
    std::size_t length_ = 0;
};

}  // namespace shadowprof
