#include "emu/translation/indirect_targets.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>

namespace shadowprof {
namespace {

// mov r11d, [r10 + r11*4 + disp32], and the same without a displacement. No guest access has these
// bytes: guest accesses have a GS or FS prefix or are string instructions.
constexpr std::array<std::uint8_t, 4> read_near = {0x47, 0x8b, 0x9c, 0x9a};
constexpr std::array<std::uint8_t, 4> read_far = {0x47, 0x8b, 0x1c, 0x9a};

}  // namespace

IndirectTargets::IndirectTargets(std::uint8_t* memory, const std::uint8_t* code)
    : memory_(memory), code_(code), accessible_(memory_bytes / part_bytes) {}

std::uint32_t* IndirectTargets::entry_of(TraceLevel level, GuestAddress target) const {
    auto* table = memory_ + static_cast<std::size_t>(level) * level_bytes;
    return reinterpret_cast<std::uint32_t*>(table) + static_cast<std::uint32_t>(target.value);
}

std::size_t IndirectTargets::part_of(const std::uint32_t* entry) const {
    return static_cast<std::size_t>(reinterpret_cast<const std::uint8_t*>(entry) - memory_) /
           part_bytes;
}

void IndirectTargets::set(TraceLevel level, GuestAddress target, const std::uint8_t* entry) {
    auto* const place = entry_of(level, target);
    const auto part = part_of(place);
    if (!accessible_[part]) {
        if (mprotect(memory_ + part * part_bytes, part_bytes, PROT_READ | PROT_WRITE) != 0) return;
        accessible_[part] = true;
    }
    *place = static_cast<std::uint32_t>(entry - code_);
}

void IndirectTargets::forget(TraceLevel level, GuestAddress target) {
    auto* const place = entry_of(level, target);
    if (accessible_[part_of(place)]) *place = 0;
}

void IndirectTargets::clear() {
    // Private anonymous memory reads as zeroes again.
    madvise(memory_, memory_bytes, MADV_DONTNEED);
    if (mprotect(memory_, memory_bytes, PROT_NONE) == 0)
        std::fill(accessible_.begin(), accessible_.end(), false);
}

void IndirectTargets::emit_branch(TraceLevel level, CodeBuffer& out) const {
    using host::scratch_a, host::scratch_b;
    out.store(offsetof(ExecutionContext, target), scratch_a);
    out.move32(scratch_b, scratch_a);
    if (level == TraceLevel::blocks) {
        out.lea_host(scratch_a, code_);
        out.bytes(read_near);
        out.value(static_cast<std::int32_t>(memory_ - code_));
    } else {
        out.move_imm(scratch_a, reinterpret_cast<std::uint64_t>(entry_of(level, {})));
        out.bytes(read_far);
        out.lea_host(scratch_a, code_);
    }
    out.lea_sum(scratch_b, scratch_a, scratch_b);
    out.bytes({0x41, 0xff, 0xe3});  // jmp r11
}

bool IndirectTargets::is_miss(const std::uint8_t* host_rip, std::uint64_t host_address) const {
    return host_address - reinterpret_cast<std::uint64_t>(memory_) < memory_bytes &&
           (std::equal(read_near.begin(), read_near.end(), host_rip) ||
            std::equal(read_far.begin(), read_far.end(), host_rip));
}

}  // namespace shadowprof
