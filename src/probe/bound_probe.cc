#include "probe/bound_probe.h"

#include <algorithm>

#include "probe/probe_fold.h"

namespace shadowprof {
namespace {

using Do = ProbeStep::Do;

// Where the low 64 bits of registers lie in an XSAVE area (Intel SDM vol. 1, 13.4 and 13.5; XMM0 to
// XMM15 are part of the legacy region).
struct StateRegisters {
    ZydisRegister first;
    unsigned count;
    std::uint64_t offset, stride;
    std::uint8_t component;
};
constexpr StateRegisters state_registers[] = {
    {ZYDIS_REGISTER_XMM0, 16, 160, 16, 1}, {ZYDIS_REGISTER_XMM16, 16, 1664, 64, 7},
    {ZYDIS_REGISTER_YMM0, 16, 160, 16, 1}, {ZYDIS_REGISTER_YMM16, 16, 1664, 64, 7},
    {ZYDIS_REGISTER_ZMM0, 16, 160, 16, 1}, {ZYDIS_REGISTER_ZMM16, 16, 1664, 64, 7},
    {ZYDIS_REGISTER_K0, 8, 1088, 8, 5},
};

std::optional<ProbeStep> register_step(ZydisRegister reg) {
    if (is_gpr(reg)) {
        const auto bits = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg);
        return ProbeStep{.what = Do::gpr,
                         .index = gpr_number(reg),
                         .shift = static_cast<std::uint8_t>(is_high_byte(reg) ? 8 : 0),
                         .bytes = static_cast<std::uint8_t>(bits / 8)};
    }
    for (const StateRegisters& group : state_registers) {
        const auto number = static_cast<unsigned>(reg) - static_cast<unsigned>(group.first);
        if (reg >= group.first && number < group.count)
            return ProbeStep{.what = Do::state,
                             .index = group.component,
                             .number = group.offset + number * group.stride};
    }
    return std::nullopt;
}

// Whether the condition is false or absent, whatever registers and memory are.
bool cannot_hold(const ProbeSyntax& syntax, ProbeNodeId id, const InstructionFacts& facts) {
    if (const auto known = fold(syntax, id, facts))
        return known->kind == ProbeKnown::Kind::absent ||
               (known->is_number() && known->number == 0);
    const ProbeNode& node = syntax.nodes[id];
    return node.op == ProbeOp::logical_and &&
           (cannot_hold(syntax, node.left, facts) || cannot_hold(syntax, node.right, facts));
}

}  // namespace

// Writes programs for the parts of a probe that are not known yet.
class ProbeCompiler {
  public:
    ProbeCompiler(const ProbeSyntax& syntax, const InstructionFacts& facts, BoundProbe& out)
        : syntax_(syntax), facts_(facts), out_(out) {}

    ProbeProgram compile(ProbeNodeId id) {
        ProbeProgram program;
        emit(id, program);
        return program;
    }

  private:
    void emit(ProbeNodeId id, ProbeProgram& out);
    void emit_logical(const ProbeNode& node, ProbeProgram& out);
    void emit_fact(const NamedFact& fact, ProbeProgram& out);
    void emit_operand(const ZydisDecodedOperand& operand, ProbeProgram& out);
    void emit_address(const MemoryReference& reference, Do what, ProbeProgram& out);

    const ProbeSyntax& syntax_;
    const InstructionFacts& facts_;
    BoundProbe& out_;
};

void ProbeCompiler::emit(ProbeNodeId id, ProbeProgram& out) {
    const ProbeNode& node = syntax_.nodes[id];
    if (const auto known = fold(syntax_, id, facts_)) {
        const bool missed = known->kind == ProbeKnown::Kind::missed;
        out.push_back({.what = known->is_failure() ? Do::fail : Do::push,
                       .missed = missed,
                       .number = known->number});
        return;
    }
    if (node.op == ProbeOp::fact) return emit_fact(node.fact, out);
    if (node.op == ProbeOp::logical_and || node.op == ProbeOp::logical_or)
        return emit_logical(node, out);
    emit(node.left, out);
    ProbeStep step{.what = Do::unary, .op = node.op, .bytes = node.bytes};
    if (node.op == ProbeOp::load) step.what = Do::load;
    if (node.op == ProbeOp::sign_extend) step.what = Do::extend;
    if (node.op >= ProbeOp::logical_or) {
        emit(node.right, out);
        step.what = Do::binary;
        step.is_signed = is_signed_operation(syntax_, node);
    }
    out.push_back(step);
}

void ProbeCompiler::emit_logical(const ProbeNode& node, ProbeProgram& out) {
    emit(node.left, out);
    const std::size_t branch = out.size();
    out.push_back({.what = node.op == ProbeOp::logical_and ? Do::if_false : Do::if_true});
    emit(node.right, out);
    out.push_back({.what = Do::truth});
    out[branch].number = out.size();
}

void ProbeCompiler::emit_fact(const NamedFact& fact, ProbeProgram& out) {
    switch (fact.fact) {
        case ProbeFact::reg:
            out.push_back(register_step(fact.reg).value_or(ProbeStep{.what = Do::fail}));
            break;
        case ProbeFact::rflags:
            out.push_back({.what = Do::rflags});
            break;
        case ProbeFact::fs_base:
            out.push_back({.what = Do::fs_base});
            break;
        case ProbeFact::gs_base:
            out.push_back({.what = Do::gs_base});
            break;
        case ProbeFact::latency:
            out.push_back({.what = Do::latency});
            break;
        case ProbeFact::size:
            emit_address(*facts_.access(fact.fact), Do::size, out);
            break;
        case ProbeFact::operand_value:
            emit_operand(*facts_.operand(fact.operand), out);
            break;
        default:
            emit_address(*facts_.access(fact.fact), Do::address, out);
    }
}

// The value of LEA's operand is the address that it computes. For wide operands the low 64 bits
// count.
void ProbeCompiler::emit_operand(const ZydisDecodedOperand& operand, ProbeProgram& out) {
    constexpr ProbeStep unknown{.what = Do::fail, .missed = true};
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
        out.push_back(register_step(operand.reg.value).value_or(unknown));
        return;
    }
    const auto reference = operand_reference(facts_.instruction(), operand);
    const bool computed = operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN;
    if (!reference || (!computed && reference->bytes == 0)) {
        out.push_back(unknown);
        return;
    }
    emit_address(*reference, Do::address, out);
    if (computed) return;
    const auto bytes = std::min<std::uint16_t>(reference->bytes, 8);
    out.push_back({.what = Do::load, .bytes = static_cast<std::uint8_t>(bytes)});
}

void ProbeCompiler::emit_address(const MemoryReference& reference, Do what, ProbeProgram& out) {
    MemoryReference access = reference;
    access.modrm = nullptr;  // it belongs to the instruction, which the bound probe outlives
    auto& known = out_.accesses_;
    const auto found = std::find(known.begin(), known.end(), access);
    out.push_back({.what = what, .index = static_cast<std::uint8_t>(found - known.begin())});
    if (found == known.end()) known.push_back(access);
}

std::optional<BoundProbe> BoundProbe::bind(const ProbeSyntax& syntax, std::uint32_t probe,
                                           const InstructionFacts& facts) {
    BoundProbe bound;
    bound.probe_ = probe;
    ProbeCompiler compiler(syntax, facts, bound);
    if (cannot_hold(syntax, syntax.condition, facts)) return std::nullopt;
    const auto condition = fold(syntax, syntax.condition, facts);
    if (!condition || condition->is_failure())
        bound.condition_ = compiler.compile(syntax.condition);
    if (syntax.value == ProbeOperand::number) bound.value_ = compiler.compile(syntax.value_node);
    if (syntax.key == ProbeOperand::number) bound.key_ = compiler.compile(syntax.key_node);
    for (const auto* program : {&bound.condition_, &bound.value_, &bound.key_})
        for (const ProbeStep& step : *program) {
            bound.uses_latency_ |= step.what == Do::latency;
            bound.uses_vectors_ |= step.what == Do::state;
        }
    return bound;
}

}  // namespace shadowprof
