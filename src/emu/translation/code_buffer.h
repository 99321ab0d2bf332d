// Appends x86-64 machine code: the few instructions that the translator itself needs, none of which
// changes a flag.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>

#include "emu/guest/segment_bases.h"
#include "emu/translation/execution_context.h"

namespace shadowprof {

class CodeBuffer {
  public:
    // Appends from `next` on; `context` must be within 2 GiB of all of [next, limit).
    CodeBuffer(std::uint8_t* next, std::uint8_t* limit, const ExecutionContext* context,
               SegmentBases bases = SegmentBases::by_instruction)
        : next_(next),
          limit_(limit),
          context_(reinterpret_cast<std::uintptr_t>(context)),
          bases_(bases) {}

    // Whether FS has the host's base while the code runs.
    bool keeps_host_fs() const { return bases_ == SegmentBases::by_kernel; }

    std::uint8_t* position() const { return next_; }
    std::size_t room_bytes() const { return static_cast<std::size_t>(limit_ - next_); }

    void bytes(std::span<const std::uint8_t> code) {
        assert(room_bytes() >= code.size());
        std::memcpy(next_, code.data(), code.size());
        next_ += code.size();
    }
    void bytes(std::initializer_list<std::uint8_t> code) { bytes({code.begin(), code.size()}); }
    template <typename T>
    void value(T v) {
        assert(room_bytes() >= sizeof v);
        std::memcpy(next_, &v, sizeof v);
        next_ += sizeof v;
    }

    // mov reg, context[offset]
    void load(std::uint8_t reg, std::size_t offset) { context_op(0x8b, reg, offset); }
    // mov context[offset], reg
    void store(std::size_t offset, std::uint8_t reg) { context_op(0x89, reg, offset); }
    // mov dword context[offset], immediate
    void store_imm32(std::size_t offset, std::uint32_t immediate) {
        bytes({0xc7, 0x05});
        displacement(offset, 4);
        value(immediate);
    }
    // opcode [context[offset]] for one-operand instructions such as push, pop, ldmxcsr.
    void context_bytes(std::initializer_list<std::uint8_t> opcode_and_modrm, std::size_t offset) {
        bytes(opcode_and_modrm);
        displacement(offset, 0);
    }

    // mov to, from
    void move(std::uint8_t to, std::uint8_t from) {
        bytes({rex(true, from, 0, to), 0x89, modrm(3, from, to)});
    }
    // mov reg, immediate: the shortest form.
    void move_imm(std::uint8_t reg, std::uint64_t immediate) {
        if (immediate <= 0xffffffff) {
            if (reg >= 8) bytes({0x41});
            bytes({static_cast<std::uint8_t>(0xb8 | (reg & 7))});
            value(static_cast<std::uint32_t>(immediate));
        } else {
            bytes({rex(true, 0, 0, reg), static_cast<std::uint8_t>(0xb8 | (reg & 7))});
            value(immediate);
        }
    }
    // mov to32, from32: zero-extends.
    void move32(std::uint8_t to, std::uint8_t from) {
        bytes({rex(false, from, 0, to), 0x89, modrm(3, from, to)});
    }
    // lea to, [base + displacement]
    void lea(std::uint8_t to, std::uint8_t base, std::int32_t displacement_bytes) {
        based_op({0x8d}, to, base, displacement_bytes);
    }
    // lea to, [base + index]; index is not 4.
    void lea_sum(std::uint8_t to, std::uint8_t base, std::uint8_t index) {
        bytes({rex(true, to, index, base), 0x8d, modrm(1, to, 4),
               static_cast<std::uint8_t>((index & 7) << 3 | (base & 7)), 0});
    }
    // mov to, gs:[base + displacement]
    void guest_load(std::uint8_t to, std::uint8_t base, std::int32_t displacement_bytes = 0) {
        bytes({0x65});
        based_op({0x8b}, to, base, displacement_bytes);
    }
    // mov gs:[base + displacement], from
    void guest_store(std::uint8_t base, std::int32_t displacement_bytes, std::uint8_t from) {
        bytes({0x65});
        based_op({0x89}, from, base, displacement_bytes);
    }

    void push(std::uint8_t reg) {
        if (reg >= 8) bytes({0x41});
        bytes({static_cast<std::uint8_t>(0x50 | (reg & 7))});
    }
    void pop(std::uint8_t reg) {
        if (reg >= 8) bytes({0x41});
        bytes({static_cast<std::uint8_t>(0x58 | (reg & 7))});
    }
    void push_imm32(std::uint32_t immediate) {
        bytes({0x68});
        value(immediate);
    }

    // jmp to a host address within 2 GiB.
    void jump(const std::uint8_t* to) {
        bytes({0xe9});
        relative(to);
    }
    // jcc; `condition` is the low half of the opcode.
    void jump_if(std::uint8_t condition, const std::uint8_t* to) {
        bytes({0x0f, static_cast<std::uint8_t>(0x80 | condition)});
        relative(to);
    }
    // lea reg, [rip to host address]
    void lea_host(std::uint8_t reg, const std::uint8_t* to) {
        bytes({rex(true, reg, 0, 0), 0x8d, modrm(0, reg, 5)});
        relative(to);
    }

    // A REX prefix; registers are given by their full numbers.
    static constexpr std::uint8_t rex(bool wide, std::uint8_t reg, std::uint8_t index,
                                      std::uint8_t base) {
        return static_cast<std::uint8_t>(0x40 | (wide ? 8 : 0) | (reg >> 3) << 2 |
                                         (index >> 3) << 1 | base >> 3);
    }
    static constexpr std::uint8_t modrm(unsigned mod, std::uint8_t reg, std::uint8_t rm) {
        return static_cast<std::uint8_t>(mod << 6 | (reg & 7u) << 3 | (rm & 7u));
    }

  private:
    void context_op(std::uint8_t opcode, std::uint8_t reg, std::size_t offset) {
        bytes({rex(true, reg, 0, 0), opcode, modrm(0, reg, 5)});
        displacement(offset, 0);
    }
    void displacement(std::size_t offset, std::size_t bytes_after) {
        const auto after = reinterpret_cast<std::uintptr_t>(next_) + 4 + bytes_after;
        value(static_cast<std::int32_t>(context_ + offset - after));
    }
    void relative(const std::uint8_t* to) { value(static_cast<std::int32_t>(to - (next_ + 4))); }
    // [base + displacement] with 64-bit operand size. R12 and RSP would need a SIB byte.
    void based_op(std::initializer_list<std::uint8_t> opcode, std::uint8_t reg, std::uint8_t base,
                  std::int32_t displacement_bytes) {
        assert((base & 7) != 4);
        const bool small = displacement_bytes >= -128 && displacement_bytes <= 127;
        bytes({rex(true, reg, 0, base)});
        bytes(opcode);
        bytes({modrm(small ? 1 : 2, reg, base)});
        if (small)
            value(static_cast<std::int8_t>(displacement_bytes));
        else
            value(displacement_bytes);
    }

    std::uint8_t* next_;
    std::uint8_t* limit_;
    std::uintptr_t context_;
    SegmentBases bases_;
};

// Makes a branch whose 32-bit displacement is at `displacement` go to `to`.
inline void patch_branch(std::uint8_t* displacement, const std::uint8_t* to) {
    const auto relative = static_cast<std::int32_t>(to - (displacement + 4));
    std::memcpy(displacement, &relative, sizeof relative);
}

// Offset of a guest register's slot in the context.
constexpr std::size_t gpr_slot(std::uint8_t guest_gpr) {
    return offsetof(ExecutionContext, gpr) + 8u * guest_gpr;
}

}  // namespace shadowprof
