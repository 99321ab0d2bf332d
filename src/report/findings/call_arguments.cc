#include "report/findings/call_arguments.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>

#include "profile/kinds/values/value_number.h"

namespace shadowprof {
namespace {

constexpr std::array integer_arguments{ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDX,
                                       ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9};
// Hot functions may have thousands of call sites; the hottest ones say enough.
constexpr std::size_t max_sites = 50;

ZydisRegister whole(ZydisRegister reg) {
    return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

bool reads(const ZydisDecodedOperand& operand, ZydisRegister reg) {
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY)
        return whole(operand.mem.base) == reg || whole(operand.mem.index) == reg;
    return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && whole(operand.reg.value) == reg &&
           (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}

bool writes(const ZydisDecodedOperand& operand, ZydisRegister reg) {
    return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && whole(operand.reg.value) == reg &&
           (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

// Whether the next instruction is executed next, or may be.
bool goes_on(Flow flow) {
    return flow == Flow::next || flow == Flow::conditional;
}

// XOR or SUB of a register with itself: it reads nothing and writes 0.
bool is_zero(const Instruction& instruction) {
    const auto operands = instruction.operands();
    return (instruction.mnemonic() == ZYDIS_MNEMONIC_XOR ||
            instruction.mnemonic() == ZYDIS_MNEMONIC_SUB) &&
           operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[0].reg.value == operands[1].reg.value;
}

// Nothing if the instruction does not load a constant.
std::optional<std::uint64_t> constant(const Instruction& instruction) {
    if (is_zero(instruction)) return 0;
    const auto operands = instruction.operands();
    if (instruction.mnemonic() != ZYDIS_MNEMONIC_MOV ||
        operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return std::nullopt;
    const std::uint64_t number = operands[1].imm.value.u;
    return operands[0].size == 32 ? number & 0xffffffff : number;
}

// What an instruction mostly gives a register.
struct GivenValue {
    std::uint64_t number = 0;
    double share = 0;  // of its executions, at least
};

// -1 is one number, whether 4 bytes of a register were set to it or all.
std::uint64_t extended(std::uint64_t number, std::size_t width_bytes) {
    return width_bytes == 4 && number >= 0x80000000 ? number | 0xffffffff00000000 : number;
}

std::optional<GivenValue> value_of(const AnnotatedInstruction& annotated,
                                   const Instruction& setter) {
    const std::size_t width = setter.operands()[0].size / 8;
    if (width < 4) return std::nullopt;  // the rest of the register is not known
    if (const auto number = constant(setter)) return GivenValue{extended(*number, width), 1};
    if (annotated.values.size() != 1) return std::nullopt;
    const ValueProfile& recorded = *annotated.values.front();
    if (!recorded.invariance || recorded.top.empty()) return std::nullopt;
    return GivenValue{extended(number_of(recorded.top.front().value), width),
                      recorded.invariance->lower_bound};
}

// Returns what `reg` holds at the call at code[call].
std::optional<GivenValue> passed_value(const AnnotatedFunction& caller, std::size_t call,
                                       ZydisRegister reg, const std::set<CodeLocation>& joins) {
    for (std::size_t i = call; i > 0; --i) {
        const AnnotatedInstruction& later = caller.code[i];
        if (later.behind_gap || joins.contains({caller.start.module, later.address}))
            return std::nullopt;
        const AnnotatedInstruction& annotated = caller.code[i - 1];
        const auto instruction = annotated.decode();
        if (!instruction || instruction->flow() != Flow::next) return std::nullopt;
        const auto operands = instruction->operands();
        const auto written = std::ranges::find_if(
            operands, [&](const ZydisDecodedOperand& operand) { return writes(operand, reg); });
        if (written == operands.end()) continue;
        if (written != operands.begin()) return std::nullopt;  // one of several results
        return value_of(annotated, *instruction);
    }
    return std::nullopt;
}

// Returns what `reg` holds when `site` calls; nothing if that is not known.
std::optional<GivenValue> value_at(const CallSite& site, ZydisRegister reg,
                                   const std::set<CodeLocation>& joins, Annotator& annotator) {
    const AnnotatedFunction& caller = annotator.annotate(site.at);
    const auto call = std::ranges::lower_bound(caller.code, site.at.address, std::less{},
                                               &AnnotatedInstruction::address);
    if (call == caller.code.end() || call->address != site.at.address) return std::nullopt;
    return passed_value(caller, static_cast<std::size_t>(call - caller.code.begin()), reg, joins);
}

ZydisRegister register_of(const std::string& name) {
    return *std::ranges::find(integer_arguments, name, [](ZydisRegister reg) {
        return std::string_view(ZydisRegisterGetString(reg));
    });
}

class Passed {
  public:
    explicit Passed(double entries) : entries_(entries) {}

    void add(const CallSite& site, const GivenValue& given) {
        if (is_plain_number(given.number, 8))
            calls_[given.number] += given.share * static_cast<double>(site.count);
        sites_.push_back({site, given.number, given.share});
    }

    // Nothing if no number is passed in most calls.
    std::optional<PassedArgument> take(std::string name) {
        const auto most = std::ranges::max_element(calls_, std::less{},
                                                   [](const auto& each) { return each.second; });
        if (most == calls_.end() || 2 * most->second < entries_) return std::nullopt;
        return PassedArgument{std::move(name), most->first, most->second / entries_,
                              std::move(sites_)};
    }

  private:
    const double entries_;
    std::map<std::uint64_t, double> calls_;  // by value
    std::vector<PassedValue> sites_;
};

}  // namespace

bool is_plain_number(std::uint64_t number, std::size_t width_bytes) {
    constexpr std::uint64_t limit = 0x10000;  // nothing is mapped below
    const std::uint64_t negated = 0 - number;
    return number < limit ||
           (width_bytes >= 8 ? negated : static_cast<std::uint32_t>(negated)) < limit;
}

std::vector<std::string> read_arguments(std::span<const AnnotatedInstruction> code) {
    std::vector<std::string> read;
    std::set<ZydisRegister> decided;
    for (const AnnotatedInstruction& each : code) {
        const auto instruction = each.decode();
        if (!instruction || !goes_on(instruction->flow())) break;
        for (const ZydisRegister reg : integer_arguments) {
            if (decided.contains(reg)) continue;
            const auto operands = instruction->operands();
            const auto any = [&](auto what) {
                return std::ranges::any_of(operands, [&](const ZydisDecodedOperand& operand) {
                    return what(operand, reg);
                });
            };
            if (any(reads) && !is_zero(*instruction))
                read.emplace_back(ZydisRegisterGetString(reg));
            else if (!any(writes))
                continue;
            decided.insert(reg);
        }
    }
    return read;
}

std::vector<PassedArgument> passed_arguments(const AnnotatedFunction& callee, double entries,
                                             std::vector<CallSite> sites,
                                             const std::set<CodeLocation>& joins,
                                             Annotator& annotator) {
    std::ranges::stable_sort(sites, std::greater{}, &CallSite::count);
    if (sites.size() > max_sites) sites.resize(max_sites);
    std::vector<PassedArgument> arguments;
    for (const std::string& name : read_arguments(callee.code)) {
        const ZydisRegister reg = register_of(name);
        Passed passed(entries);
        for (const CallSite& site : sites)
            if (const auto given = value_at(site, reg, joins, annotator)) passed.add(site, *given);
        if (auto argument = passed.take(name)) arguments.push_back(std::move(*argument));
    }
    return arguments;
}

}  // namespace shadowprof
