// The names that a probe may use: one row each.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace shadowprof {

enum class ProbeFact : std::uint8_t {
    // These facts are about the instruction.
    mnemonic,
    instruction_class,
    text,
    length,
    operands,
    reads,
    writes,
    branch,
    call,
    ret,
    atomic,
    vector,
    operand_kind,
    operand_name,
    operand_size,
    // These facts are about the place of the instruction.
    function,
    module,
    file,
    line,
    entry,
    // These facts are about one execution, as they are before it.
    reg,
    rip,
    rflags,
    fs_base,
    gs_base,
    operand_value,
    address,
    load_address,
    store_address,
    size,
    latency,
};

enum class ProbeType : std::uint8_t { number, boolean, text };

// A mask of what an expression depends on.
inline constexpr std::uint8_t uses_instruction = 1, uses_place = 2, uses_execution = 4;

struct NamedFact {
    ProbeFact fact;
    ProbeType type;
    std::uint8_t uses;
    std::uint8_t operand = 0;                 // number of the operand from 0, for operand_* facts
    ZydisRegister reg = ZYDIS_REGISTER_NONE;  // for ProbeFact::reg
};
inline constexpr unsigned max_probe_operands = 4;

std::optional<NamedFact> find_fact(std::string_view name);
// Returns all names that find_fact() knows, for suggestions.
std::vector<std::string_view> fact_names();

// mem8() to mem64() and int8() to int64().
struct ProbeFunction {
    std::string_view name;
    bool loads;  // false: it sign-extends
    std::uint8_t bytes;
};
const ProbeFunction* find_function(std::string_view name);
std::vector<std::string_view> function_names();

}  // namespace shadowprof
