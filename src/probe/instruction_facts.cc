#include "probe/instruction_facts.h"

#include <algorithm>

#include "base/value_type.h"
#include "decoder/disassembly.h"

namespace shadowprof {
namespace {

using Known = ProbeKnown;

Known known_text(std::string_view value) {
    return {.kind = Known::Kind::text, .text = value};
}

std::string lower_case(const char* name) {
    std::string text = name ? name : "";
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

bool accesses(const Instruction& in, ZydisOperandActions actions) {
    if (is_hint(in)) return false;
    return std::any_of(in.operands().begin(), in.operands().end(), [&](const auto& operand) {
        return operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
               operand.mem.type != ZYDIS_MEMOP_TYPE_AGEN && (operand.actions & actions) != 0;
    });
}

bool is_vector(const Instruction& in) {
    return std::any_of(in.operands().begin(), in.operands().end(), [](const auto& operand) {
        if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) return false;
        const auto kind = ZydisRegisterGetClass(operand.reg.value);
        return kind == ZYDIS_REGCLASS_XMM || kind == ZYDIS_REGCLASS_YMM ||
               kind == ZYDIS_REGCLASS_ZMM;
    });
}

std::string_view kind_name(const ZydisDecodedOperand& operand) {
    switch (operand.type) {
        case ZYDIS_OPERAND_TYPE_REGISTER:
            return "reg";
        case ZYDIS_OPERAND_TYPE_MEMORY:
            return "mem";
        default:
            return "imm";
    }
}

}  // namespace

InstructionFacts::InstructionFacts(const Instruction& instruction, std::uint64_t place_bits)
    : in_(instruction), references_(memory_references(instruction)), place_bits_(place_bits) {}

std::optional<ProbeKnown> InstructionFacts::known(const ProbeNode& node) const {
    if (node.test) return known_number(place_bits_ >> (first_test_ + *node.test) & 1);
    switch (node.fact.fact) {
        case ProbeFact::operand_value:
            if (const auto* named = operand(node.fact.operand)) return operand_value(*named);
            return Known{.kind = Known::Kind::absent};
        case ProbeFact::address:
        case ProbeFact::load_address:
        case ProbeFact::store_address:
        case ProbeFact::size:
            if (access(node.fact.fact) == nullptr) return Known{.kind = Known::Kind::absent};
            return std::nullopt;
        case ProbeFact::rip:
            return known_number(in_.address().value);
        default:
            break;
    }
    if (node.fact.uses != uses_instruction) return std::nullopt;
    return node.type == ProbeType::text ? text_fact(node.fact)
                                        : known_number(number_fact(node.fact));
}

std::optional<ProbeKnown> InstructionFacts::text_fact(const NamedFact& fact) const {
    const auto* named = operand(fact.operand);
    switch (fact.fact) {
        case ProbeFact::mnemonic:
            return known_text(mnemonic_name(in_.mnemonic()));
        case ProbeFact::instruction_class:
            if (class_.empty())
                class_ = lower_case(ZydisCategoryGetString(in_.zydis().meta.category));
            return known_text(class_);
        case ProbeFact::text:
            if (text_.empty())
                text_ = Disassembler().text(std::as_bytes(in_.bytes()), in_.address().value);
            return known_text(text_);
        case ProbeFact::operand_kind:
            return known_text(named ? kind_name(*named) : "");
        default:
            if (!named || named->type != ZYDIS_OPERAND_TYPE_REGISTER) return known_text("");
            return known_text(ZydisRegisterGetString(named->reg.value));
    }
}

std::uint64_t InstructionFacts::number_fact(const NamedFact& fact) const {
    const Flow flow = in_.flow();
    switch (fact.fact) {
        case ProbeFact::length:
            return in_.length();
        case ProbeFact::operands:
            return in_.zydis().operand_count_visible;
        case ProbeFact::operand_size:
            return operand(fact.operand) ? operand(fact.operand)->size / 8 : 0;
        case ProbeFact::reads:
            return accesses(in_, ZYDIS_OPERAND_ACTION_MASK_READ);
        case ProbeFact::writes:
            return accesses(in_, ZYDIS_OPERAND_ACTION_MASK_WRITE);
        case ProbeFact::branch:
            return flow == Flow::conditional || flow == Flow::jump || flow == Flow::indirect_jump;
        case ProbeFact::call:
            return flow == Flow::call || flow == Flow::indirect_call;
        case ProbeFact::ret:
            return flow == Flow::ret;
        case ProbeFact::atomic:
            return is_locked(in_);
        default:
            return is_vector(in_);
    }
}

// The value of an immediate is known: as wide as the instruction takes it, or the target of a
// branch.
std::optional<ProbeKnown> InstructionFacts::operand_value(
    const ZydisDecodedOperand& operand) const {
    if (operand.type == ZYDIS_OPERAND_TYPE_POINTER) return Known{.kind = Known::Kind::absent};
    if (operand.type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return std::nullopt;
    if (operand.imm.is_relative) return known_number(in_.next().value + operand.imm.value.u);
    // An immediate shorter than the operation is sign-extended to it.
    const unsigned bits = operand.imm.is_signed
                              ? std::max<unsigned>(operand.size, in_.zydis().operand_width)
                              : operand.size;
    return known_number(low_bytes(operand.imm.value.u, bits / 8));
}

const MemoryReference* InstructionFacts::access(ProbeFact fact) const {
    for (const MemoryReference& reference : references_) {
        const bool wanted = fact == ProbeFact::load_address    ? reference.load
                            : fact == ProbeFact::store_address ? reference.store
                                                               : true;
        if (wanted) return &reference;
    }
    return nullptr;
}

const ZydisDecodedOperand* InstructionFacts::operand(std::uint8_t number) const {
    if (number >= in_.zydis().operand_count_visible) return nullptr;
    return &in_.operands()[number];
}

}  // namespace shadowprof
