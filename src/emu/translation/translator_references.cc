// Emits the words of TraceLevel::references. They are addresses, pushed before the instruction that
// accesses them, as it may overwrite the registers that make them up. If the instruction faults,
// all its words are in the record already (Position::own_words).
#include <limits>

#include "decoder/register_flow.h"
#include "emu/translation/operand_code.h"
#include "emu/translation/translator.h"

namespace shadowprof {
namespace {

void emit_push_gpr(std::uint8_t guest, CodeBuffer& out) {
    if (guest == static_cast<std::uint8_t>(Gpr::rsp))
        out.push(host::guest_rsp);
    else if (lives_in_context(guest))
        out.context_bytes({0xff, 0x35}, gpr_slot(guest));
    else
        out.push(guest);
}

void emit_add_segment(MemoryReference::Segment segment, CodeBuffer& out) {
    if (segment == MemoryReference::Segment::none) return;
    out.load(host::scratch_b, segment == MemoryReference::Segment::fs
                                  ? offsetof(ExecutionContext, guest_fs)
                                  : offsetof(ExecutionContext, guest_gs));
    out.lea_sum(host::scratch_a, host::scratch_a, host::scratch_b);
}

// scratch_a = the address of the instruction's operand.
bool emit_modrm_address(const Instruction& in, const MemoryReference& reference, CodeBuffer& out) {
    const bool done = in.mnemonic() == ZYDIS_MNEMONIC_POP
                          ? emit_pop_address(in, reference.bytes, out)
                          : emit_operand_address(in, out);
    if (!done) return false;
    // The base of GS is included already.
    if (reference.segment == MemoryReference::Segment::fs && !out.keeps_host_fs())
        emit_add_segment(reference.segment, out);
    return true;
}

// scratch_a = the address of an operand that is implicit, or absolute without a ModRM byte.
bool emit_implicit_address(const MemoryReference& reference, CodeBuffer& out) {
    if (reference.index || (reference.base && reference.displacement != 0)) return false;
    if (!reference.base) {
        const auto address = static_cast<std::uint64_t>(reference.displacement);
        out.move_imm(host::scratch_a, reference.narrow ? address & 0xffffffff : address);
    } else if (lives_in_context(*reference.base)) {
        return false;
    } else if (reference.narrow) {
        out.move32(host::scratch_a, *reference.base);
    } else {
        out.move(host::scratch_a, *reference.base);
    }
    emit_add_segment(reference.segment, out);
    return true;
}

// Whether the base register itself can be pushed as the word.
bool is_plain(const MemoryReference& reference) {
    return reference.base && !reference.index && !reference.narrow &&
           reference.segment == MemoryReference::Segment::none &&
           reference.displacement == static_cast<std::int32_t>(reference.displacement);
}

// Pushes a word and returns what must be added to it for the address; nothing if that cannot be
// done.
std::optional<std::int32_t> emit_address_word(const Instruction& in,
                                              const MemoryReference& reference, CodeBuffer& out) {
    if (is_plain(reference)) {
        emit_push_gpr(*reference.base, out);
        return static_cast<std::int32_t>(reference.displacement);
    }
    const auto before = out;
    const bool done = reference.modrm ? emit_modrm_address(in, reference, out)
                                      : emit_implicit_address(reference, out);
    if (!done) {
        out = before;
        return std::nullopt;
    }
    out.push(host::scratch_a);
    return 0;
}

std::uint16_t flags_of(const Instruction& in, const MemoryReference& reference) {
    unsigned flags = 0;
    const auto set = [&](bool on, std::uint16_t flag) { flags |= on ? flag : 0u; };
    set(reference.load, ReferenceSlot::load);
    set(reference.store, ReferenceSlot::store);
    set(reference.stack, ReferenceSlot::stack);
    set(reference.repeated, ReferenceSlot::repeated);
    set(reference.masked, ReferenceSlot::masked);
    set(is_locked(in), ReferenceSlot::locked);
    set(reference.base && !reference.index, ReferenceSlot::direct);
    return static_cast<std::uint16_t>(flags);
}

std::uint16_t registers_of(const MemoryReference& reference) {
    unsigned mask = 0;
    if (reference.base) mask |= 1u << *reference.base;
    if (reference.index) mask |= 1u << *reference.index;
    return static_cast<std::uint16_t>(mask);
}

}  // namespace

void Translator::emit_references(const Instruction& in, std::size_t index, CodeBuffer& out) {
    auto& slots = draft_.references;
    const auto first = slots.size();
    for (const auto& reference : memory_references(in)) add_reference(in, index, reference, out);
    const auto flow = register_flow(in);
    const bool fence = is_fence(in);
    if (slots.size() == first && (flow.written != 0 || fence))
        slots.push_back(
            {.instruction_offset = static_cast<std::uint16_t>(in.address() - draft_.start),
             .instruction = static_cast<std::uint8_t>(index),
             .words = 0});
    if (slots.size() != first) {
        auto& last = slots.back();
        last.read = flow.read;
        last.written = flow.written;
        if (flow.copies) last.flags |= ReferenceSlot::copies;
        if (fence) last.flags |= ReferenceSlot::fence;
    }
    addresses_.note(in);
}

void Translator::add_reference(const Instruction& in, std::size_t index,
                               const MemoryReference& reference, CodeBuffer& out) {
    ReferenceSlot slot{
        .instruction_offset = static_cast<std::uint16_t>(in.address() - draft_.start),
        .instruction = static_cast<std::uint8_t>(index),
        .words = 0,
        .flags = flags_of(in, reference),
        .bytes = reference.bytes,
        .address_registers = registers_of(reference)};
    if (const auto known = addresses_.known(reference, draft_.start)) {
        slot.source = known->source;
        slot.addend = known->addend;
    } else {
        const auto addend = emit_address_word(in, reference, out);
        if (!addend) return;
        slot.words = 1;
        slot.addend = *addend;
        addresses_.set_recorded(reference, static_cast<std::uint16_t>(draft_.references.size()),
                                *addend);
    }
    draft_.references.push_back(slot);
    draft_.words += slot.words;
}

}  // namespace shadowprof
