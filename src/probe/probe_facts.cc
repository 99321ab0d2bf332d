#include "probe/probe_facts.h"

#include <algorithm>
#include <array>

#include "decoder/instruction.h"

namespace shadowprof {
namespace {

using enum ProbeFact;
using Type = ProbeType;

struct FactRow {
    std::string_view name;
    ProbeFact fact;
    ProbeType type;
    std::uint8_t uses;
};

constexpr std::array<FactRow, 26> facts{{
    {"mnemonic", mnemonic, Type::text, uses_instruction},
    {"class", instruction_class, Type::text, uses_instruction},
    {"text", text, Type::text, uses_instruction},
    {"length", length, Type::number, uses_instruction},
    {"operands", operands, Type::number, uses_instruction},
    {"reads", reads, Type::boolean, uses_instruction},
    {"writes", writes, Type::boolean, uses_instruction},
    {"branch", branch, Type::boolean, uses_instruction},
    {"call", call, Type::boolean, uses_instruction},
    {"return", ret, Type::boolean, uses_instruction},
    {"atomic", atomic, Type::boolean, uses_instruction},
    {"vector", vector, Type::boolean, uses_instruction},
    {"function", function, Type::text, uses_place},
    {"module", module, Type::text, uses_place},
    {"file", file, Type::text, uses_place},
    {"line", line, Type::number, uses_place},
    {"entry", entry, Type::boolean, uses_place},
    {"rip", rip, Type::number, uses_execution},
    {"rflags", rflags, Type::number, uses_execution},
    {"fs_base", fs_base, Type::number, uses_execution},
    {"gs_base", gs_base, Type::number, uses_execution},
    {"address", address, Type::number, uses_execution},
    {"load_address", load_address, Type::number, uses_execution},
    {"store_address", store_address, Type::number, uses_execution},
    {"size", size, Type::number, uses_execution},
    {"latency", latency, Type::number, uses_execution},
}};

struct OperandRow {
    std::string_view suffix;  // after op1 to op4
    ProbeFact fact;
    ProbeType type;
    std::uint8_t uses;
    std::array<std::string_view, max_probe_operands> names;
};

constexpr std::array<OperandRow, 4> operand_facts{{
    {"", operand_value, Type::number, uses_execution, {"op1", "op2", "op3", "op4"}},
    {".kind",
     operand_kind,
     Type::text,
     uses_instruction,
     {"op1.kind", "op2.kind", "op3.kind", "op4.kind"}},
    {".name",
     operand_name,
     Type::text,
     uses_instruction,
     {"op1.name", "op2.name", "op3.name", "op4.name"}},
    {".size",
     operand_size,
     Type::number,
     uses_instruction,
     {"op1.size", "op2.size", "op3.size", "op4.size"}},
}};

constexpr std::array<ProbeFunction, 8> functions{{
    {"mem8", true, 1},
    {"mem16", true, 2},
    {"mem32", true, 4},
    {"mem64", true, 8},
    {"int8", false, 1},
    {"int16", false, 2},
    {"int32", false, 4},
    {"int64", false, 8},
}};

// Visits the registers whose names are facts: the general ones of all widths, and XMM.
template <typename Visit>
void for_each_register(Visit visit) {
    for (int i = 0; i <= ZYDIS_REGISTER_MAX_VALUE; ++i) {
        const auto reg = static_cast<ZydisRegister>(i);
        const bool xmm = reg >= ZYDIS_REGISTER_XMM0 && reg <= ZYDIS_REGISTER_XMM31;
        if (is_gpr(reg) || xmm) visit(std::string_view(ZydisRegisterGetString(reg)), reg);
    }
}

}  // namespace

std::optional<NamedFact> find_fact(std::string_view name) {
    for (const FactRow& row : facts)
        if (row.name == name) return NamedFact{row.fact, row.type, row.uses};
    for (const OperandRow& row : operand_facts) {
        const auto found = std::find(row.names.begin(), row.names.end(), name);
        if (found == row.names.end()) continue;
        const auto operand = static_cast<std::uint8_t>(found - row.names.begin());
        return NamedFact{row.fact, row.type, row.uses, operand};
    }
    std::optional<NamedFact> result;
    for_each_register([&](std::string_view known, ZydisRegister register_id) {
        if (known == name) result = NamedFact{reg, Type::number, uses_execution, 0, register_id};
    });
    return result;
}

std::vector<std::string_view> fact_names() {
    std::vector<std::string_view> names = {"true", "false"};
    for (const FactRow& row : facts) names.push_back(row.name);
    for (const OperandRow& row : operand_facts)
        names.insert(names.end(), row.names.begin(), row.names.end());
    for_each_register([&](std::string_view name, ZydisRegister) { names.push_back(name); });
    return names;
}

const ProbeFunction* find_function(std::string_view name) {
    const auto found = std::find_if(functions.begin(), functions.end(),
                                    [&](const ProbeFunction& f) { return f.name == name; });
    return found == functions.end() ? nullptr : &*found;
}

std::vector<std::string_view> function_names() {
    std::vector<std::string_view> names;
    for (const ProbeFunction& function : functions) names.push_back(function.name);
    return names;
}

}  // namespace shadowprof
