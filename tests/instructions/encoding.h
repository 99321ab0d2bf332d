// An instruction's encoding as fields that can be varied one by one (Intel SDM vol. 2, chapter 2).
// Written independently of emu/translation/instruction_bytes.h, which it tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace shadowprof {

// A ModRM memory operand.
struct AddressFields {
    enum class Mode : std::uint8_t {
        sib,       // [base + index * scale + displacement], with or without a SIB byte
        rip,       // [rip + 32-bit displacement]
        absolute,  // [32-bit displacement], with or without an index
    };
    Mode mode = Mode::sib;
    bool with_sib = true;
    std::uint8_t base = 3;
    std::uint8_t index = 1;  // 4: none
    std::uint8_t scale = 0;  // 0 to 3
    std::uint8_t displacement_bytes = 0;
    std::int32_t displacement = 0;

    friend bool operator==(const AddressFields&, const AddressFields&) = default;
};

struct Encoding {
    enum class Kind : std::uint8_t { legacy, vex, evex, xop };

    Kind kind = Kind::legacy;
    bool operand_size = false;
    bool address_size = false;
    bool lock = false;
    std::uint8_t repeat = 0;   // F2, F3 or 0
    std::uint8_t segment = 0;  // 64, 65 or 0
    bool force_rex = false;
    bool short_vex = false;  // C5, if the fields allow it
    std::uint8_t map = 0;    // legacy: 0 to 3 for one byte, 0F, 0F38, 0F3A
    std::uint8_t opcode = 0;
    std::uint8_t pp = 0;
    bool w = false;
    std::uint8_t length = 0;  // L'L
    bool b = false;           // EVEX: broadcast, rounding or SAE
    bool zeroing = false;
    std::uint8_t mask = 0;
    bool has_modrm = true;
    bool memory = false;
    std::uint8_t reg = 0, rm = 0, vvvv = 0;  // up to 31
    AddressFields address;
    std::uint8_t tail_bytes = 0;  // immediates, or an address without a ModRM byte
    std::array<std::uint8_t, 10> tail{};
};

struct Assembled {
    std::array<std::uint8_t, 24> bytes{};
    std::size_t length = 0;  // more than 15 if it is not an instruction
    std::size_t displacement_at = 0;
    std::size_t tail_at = 0;

    std::span<const std::uint8_t> span() const { return {bytes.data(), length}; }
};

Assembled assemble(const Encoding& encoding);

}  // namespace shadowprof
