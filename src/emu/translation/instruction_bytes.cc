#include "emu/translation/instruction_bytes.h"

#include <algorithm>
#include <cstring>

namespace shadowprof {
namespace {

constexpr std::uint8_t fs_prefix = 0x64;
constexpr std::uint8_t gs_prefix = 0x65;
constexpr std::uint8_t address_size_prefix = 0x67;

bool is_ignored_segment(std::uint8_t b) {
    return b == 0x26 || b == 0x2e || b == 0x36 || b == 0x3e;
}

bool is_other_legacy(std::uint8_t b) {
    return b == 0x66 || b == 0xf0 || b == 0xf2 || b == 0xf3;
}

}  // namespace

std::optional<InstructionBytes> InstructionBytes::parse(const Instruction& instruction) {
    InstructionBytes result;
    const auto bytes = instruction.bytes();
    std::size_t at = 0;
    result.read_prefixes(bytes, at);
    switch (instruction.zydis().encoding) {
        case ZYDIS_INSTRUCTION_ENCODING_LEGACY:
            break;
        case ZYDIS_INSTRUCTION_ENCODING_VEX:
            result.kind_ = Kind::vex;
            break;
        case ZYDIS_INSTRUCTION_ENCODING_EVEX:
            result.kind_ = Kind::evex;
            break;
        default:
            return std::nullopt;
    }
    if (!result.read_vector_prefix(bytes, at)) return std::nullopt;
    result.read_tail(instruction, at);
    if (const auto* memory = instruction.modrm_memory())
        result.effective_displacement_ = static_cast<std::int32_t>(memory->mem.disp.value);
    return result;
}

void InstructionBytes::read_prefixes(std::span<const std::uint8_t> bytes, std::size_t& at) {
    for (; at < bytes.size(); ++at) {
        const auto b = bytes[at];
        const bool is_rex = (b & 0xf0) == 0x40;
        if (b == fs_prefix || b == gs_prefix)
            segment_ = b;
        else if (b == address_size_prefix)
            address_size_ = true;
        else if (is_other_legacy(b)) {
            // Of F2 and F3 only the last one counts, and repeating a prefix means nothing.
            if (legacy_count_ == legacy_.size() ||
                std::find(legacy_.begin(), legacy_.begin() + legacy_count_, b) !=
                    legacy_.begin() + legacy_count_) {
                // Removes the earlier copy, or the last prefix if there is none.
                static_cast<void>(std::remove(legacy_.begin(), legacy_.begin() + legacy_count_, b));
                --legacy_count_;
            }
            legacy_[legacy_count_++] = b;
        } else if (!is_ignored_segment(b) && !is_rex)
            return;
        // A REX prefix counts only directly in front of the opcode.
        has_rex_ = is_rex;
        rex_ = is_rex ? b : std::uint8_t{0x40};
    }
}

bool InstructionBytes::read_vector_prefix(std::span<const std::uint8_t> bytes, std::size_t& at) {
    if (kind_ == Kind::legacy) return true;
    const auto first = bytes[at];
    if (kind_ == Kind::evex) {
        if (first != 0x62) return false;
        std::copy_n(&bytes[at + 1], 3, vector_prefix_.begin());
        at += 4;
    } else if (first == 0xc5) {
        const auto b = bytes[at + 1];
        vector_prefix_[0] = static_cast<std::uint8_t>((b & 0x80) | 0x61);  // map 0F, X and B clear
        vector_prefix_[1] = b & 0x7f;
        at += 2;
    } else if (first == 0xc4) {
        std::copy_n(&bytes[at + 1], 2, vector_prefix_.begin());
        at += 3;
    } else
        return false;
    return true;
}

void InstructionBytes::read_tail(const Instruction& instruction, std::size_t at) {
    const auto bytes = instruction.bytes();
    const auto& raw = instruction.zydis().raw;
    has_modrm_ = instruction.has_attribute(ZYDIS_ATTRIB_HAS_MODRM);
    has_sib_ = instruction.has_attribute(ZYDIS_ATTRIB_HAS_SIB);
    // Opcodes have up to three bytes; without a ModRM byte they end where the immediates begin.
    std::size_t opcode_end = bytes.size();
    if (has_modrm_)
        opcode_end = raw.modrm.offset;
    else if (raw.disp.size)
        opcode_end = raw.disp.offset;
    else if (raw.imm[0].size)
        opcode_end = raw.imm[0].offset;
    while (at < opcode_end && opcode_count_ < opcode_.size())
        opcode_[opcode_count_++] = bytes[at++];
    if (has_modrm_) modrm_ = bytes[at++];
    if (has_sib_) sib_ = bytes[at++];
    if (has_modrm_ && raw.disp.size) {
        displacement_count_ = raw.disp.size / 8;
        std::copy_n(&bytes[at], displacement_count_, displacement_.begin());
        at += displacement_count_;
    }
    while (at < bytes.size()) tail_[tail_count_++] = bytes[at++];
}

void InstructionBytes::set_extension(Extension which, bool on) {
    // REX has R, X, B in bits 2, 1, 0; VEX and EVEX have them inverted in bits 7, 6, 5.
    const unsigned position = which == Extension::r ? 2 : which == Extension::x ? 1 : 0;
    if (kind_ == Kind::legacy) {
        const auto bit = static_cast<std::uint8_t>(1u << position);
        rex_ = static_cast<std::uint8_t>(on ? rex_ | bit : rex_ & ~bit);
        has_rex_ |= on;
        return;
    }
    const auto bit = static_cast<std::uint8_t>(1u << (position + 5));
    vector_prefix_[0] =
        static_cast<std::uint8_t>(on ? vector_prefix_[0] & ~bit : vector_prefix_[0] | bit);
}

void InstructionBytes::set_gpr(GprField field, std::uint8_t number) {
    const auto low = static_cast<std::uint8_t>(number & 7);
    const bool high = number >= 8;
    switch (field) {
        case GprField::modrm_reg:
            modrm_ = static_cast<std::uint8_t>((modrm_ & 0xc7) | low << 3);
            set_extension(Extension::r, high);
            break;
        case GprField::modrm_rm:
            modrm_ = static_cast<std::uint8_t>((modrm_ & 0xf8) | low);
            set_extension(Extension::b, high);
            break;
        case GprField::base:
            if (has_sib_)
                sib_ = static_cast<std::uint8_t>((sib_ & 0xf8) | low);
            else
                modrm_ = static_cast<std::uint8_t>((modrm_ & 0xf8) | low);
            set_extension(Extension::b, high);
            break;
        case GprField::index:
            sib_ = static_cast<std::uint8_t>((sib_ & 0xc7) | low << 3);
            set_extension(Extension::x, high);
            break;
        case GprField::opcode: {
            auto& last = opcode_[opcode_count_ - 1u];
            last = static_cast<std::uint8_t>((last & 0xf8) | low);
            set_extension(Extension::b, high);
            break;
        }
        case GprField::vvvv: {
            auto& payload = vector_prefix_[1];
            payload = static_cast<std::uint8_t>((payload & 0x87) | ((~number & 15) << 3));
            break;
        }
    }
}

void InstructionBytes::set_memory_base_only(std::uint8_t base) {
    has_sib_ = false;
    displacement_count_ = 0;
    modrm_ = static_cast<std::uint8_t>(modrm_ & 0x38);
    set_extension(Extension::x, false);
    set_gpr(GprField::base, base);
    // RBP and R13 as a base need a displacement: without one, the encoding means something else.
    if ((base & 7) == 5) {
        modrm_ |= 0x40;
        displacement_[0] = 0;
        displacement_count_ = 1;
    }
}

void InstructionBytes::set_memory_absolute(std::int32_t address) {
    has_sib_ = true;
    modrm_ = static_cast<std::uint8_t>((modrm_ & 0x38) | 4);
    sib_ = 0x25;
    set_extension(Extension::x, false);
    set_extension(Extension::b, false);
    std::memcpy(displacement_.data(), &address, 4);
    displacement_count_ = 4;
}

void InstructionBytes::make_lea(std::uint8_t reg) {
    if (kind_ != Kind::legacy) {
        // The extension bits of the address move into a REX prefix.
        rex_ = static_cast<std::uint8_t>(0x40 | (~vector_prefix_[0] >> 5 & 3));
        if (displacement_count_ == 1) {
            modrm_ = static_cast<std::uint8_t>((modrm_ & 0x3f) | 0x80);
            std::memcpy(displacement_.data(), &effective_displacement_, 4);
            displacement_count_ = 4;
        }
        kind_ = Kind::legacy;
    }
    legacy_count_ = 0;
    segment_ = 0;
    rex_ |= 8;
    has_rex_ = true;
    opcode_[0] = 0x8d;
    opcode_count_ = 1;
    tail_count_ = 0;
    set_gpr(GprField::modrm_reg, reg);
}

std::span<const std::uint8_t> InstructionBytes::emit() {
    length_ = 0;
    if (segment_) append(segment_);
    if (address_size_) append(address_size_prefix);
    for (std::size_t i = 0; i < legacy_count_; ++i) append(legacy_[i]);
    if (kind_ == Kind::vex) {
        append(0xc4);
        append(vector_prefix_[0]);
        append(vector_prefix_[1]);
    } else if (kind_ == Kind::evex) {
        append(0x62);
        for (auto b : vector_prefix_) append(b);
    } else if (has_rex_)
        append(rex_);
    for (std::size_t i = 0; i < opcode_count_; ++i) append(opcode_[i]);
    if (has_modrm_) append(modrm_);
    if (has_sib_) append(sib_);
    for (std::size_t i = 0; i < displacement_count_; ++i) append(displacement_[i]);
    for (std::size_t i = 0; i < tail_count_; ++i) append(tail_[i]);
    if (length_ > out_.size()) return {};
    return {out_.data(), length_};
}

}  // namespace shadowprof
