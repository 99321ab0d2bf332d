#include "emu/watch/address_tracker.h"

#include <algorithm>

#include "base/cpu_state.h"
#include "decoder/register_flow.h"
#include "emu/trace/trace.h"

namespace shadowprof {
namespace {

// Whether the difference fits the 32 bits of an addend.
bool fits(std::uint64_t difference) {
    const auto addend = static_cast<std::int64_t>(difference);
    return addend == static_cast<std::int32_t>(addend);
}

}  // namespace

void AddressTracker::begin() {
    next_ = 0;
    for (std::size_t gpr = 0; gpr < registers_.size(); ++gpr)
        forget(static_cast<std::uint8_t>(gpr));
    fs_ = next_++;
    gs_ = next_++;
    recorded_.clear();
}

AddressTracker::Address AddressTracker::address_of(const MemoryReference& reference) const {
    Address address{.shape = {}, .constant = static_cast<std::uint64_t>(reference.displacement)};
    if (reference.base) {
        const auto& base = registers_[*reference.base];
        address.shape.base = base.unknown;
        address.constant += base.offset;
    }
    if (reference.index) {
        const auto& index = registers_[*reference.index];
        address.shape.index = index.unknown;
        address.shape.scale = reference.scale;
        address.constant += index.offset * reference.scale;
    }
    if (reference.segment == MemoryReference::Segment::fs) address.shape.segment = fs_;
    if (reference.segment == MemoryReference::Segment::gs) address.shape.segment = gs_;
    return address;
}

std::optional<AddressTracker::Known> AddressTracker::known(const MemoryReference& reference,
                                                           GuestAddress block_start) const {
    if (reference.narrow) return std::nullopt;
    const auto address = address_of(reference);
    if (address.shape == Shape{}) {
        const auto addend = address.constant - block_start.value;
        if (!fits(addend)) return std::nullopt;
        return Known{ReferenceSlot::no_source, static_cast<std::int32_t>(addend)};
    }
    for (const auto& recorded : recorded_) {
        const auto addend = address.constant - recorded.constant;
        if (recorded.shape == address.shape && fits(addend))
            return Known{recorded.slot, static_cast<std::int32_t>(addend)};
    }
    return std::nullopt;
}

void AddressTracker::set_recorded(const MemoryReference& reference, std::uint16_t slot,
                                  std::int64_t addend) {
    if (reference.narrow) return;
    const auto address = address_of(reference);
    recorded_.push_back(
        {address.shape, address.constant - static_cast<std::uint64_t>(addend), slot});
}

void AddressTracker::note(const Instruction& in) {
    if (const auto sum = register_sum(in)) {
        auto content = registers_[sum->from];
        content.offset += static_cast<std::uint64_t>(sum->addend);
        registers_[sum->to] = content;
        return;
    }
    const auto stack_pointer = registers_[static_cast<std::size_t>(Gpr::rsp)];
    forget_written(in);
    if (const auto bytes = stack_move(in))
        registers_[static_cast<std::size_t>(Gpr::rsp)] = {
            stack_pointer.unknown, stack_pointer.offset + static_cast<std::uint64_t>(*bytes)};
}

void AddressTracker::forget_written(const Instruction& in) {
    for (const auto& operand : in.operands())
        if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && is_gpr(operand.reg.value) &&
            (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            forget(gpr_number(operand.reg.value));
    // Not all string instructions list their pointers as written operands.
    if (in.zydis().meta.category == ZYDIS_CATEGORY_STRINGOP) {
        forget(static_cast<std::uint8_t>(Gpr::rsi));
        forget(static_cast<std::uint8_t>(Gpr::rdi));
    }
    if (is_stack_instruction(in)) forget(static_cast<std::uint8_t>(Gpr::rsp));
    if (in.mnemonic() == ZYDIS_MNEMONIC_WRFSBASE) fs_ = next_++;
    if (in.mnemonic() == ZYDIS_MNEMONIC_WRGSBASE) gs_ = next_++;
}

}  // namespace shadowprof
