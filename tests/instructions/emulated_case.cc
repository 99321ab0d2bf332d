#include "emulated_case.h"

#include <cpuid.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "decoder/instruction.h"
#include "emu/watch/value_tracker.h"
#include "reference_check.h"
#include "start_state.h"

namespace shadowprof {
namespace {

constexpr std::size_t buffer_words = 1 << 14;
constexpr std::uint64_t instruction_limit = 1'000'000;

RunLimits limits_for(TraceLevel level) {
    RunLimits limits{.instructions = instruction_limit, .untraced = level == TraceLevel::none};
    if (level == TraceLevel::values)
        limits.burst_period = limits.value_instructions = instruction_limit;
    if (level == TraceLevel::references)
        limits.burst_period = limits.reference_instructions = instruction_limit;
    return limits;
}

// Includes an inaccessible mapping at the top, where a stack would be. It keeps the emulator from
// placing the others at the end of the address space.
MemoryMap memory_map(std::uint64_t base) {
    constexpr std::uint64_t top = 0x7ffd'0000'0000;
    const auto mapping = [](std::uint64_t start, std::size_t bytes, bool write, bool execute) {
        Mapping m;
        m.start = {start};
        m.end = {start + bytes};
        m.readable = start != top;
        m.writable = write;
        m.executable = execute;
        return m;
    };
    return MemoryMap({mapping(base, code_bytes, false, true),
                      mapping(base + data_offset, data_bytes, true, false),
                      mapping(base + constant_offset, constant_bytes, false, false),
                      mapping(top, page_bytes, false, false)});
}

// How many instructions of a case without branches were executed, including the end marker, which
// is in a block of its own.
std::uint64_t count_executed(const Case& test, const Outcome& outcome) {
    std::uint64_t count = 0;
    for (std::size_t at = 0; test.code_start() + at < outcome.cpu.rip; ++count) {
        const auto in = Instruction::decode(std::as_bytes(test.code_span()).subspan(at),
                                            test.code_start() + at);
        if (!in) break;
        at += in->length();
    }
    return count + (outcome.ending == Ending::marker ? 1 : 0);
}

bool has_protection_keys() {
    constexpr unsigned ospke = 1 << 4;
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & ospke);
}

// XRSTOR may change the rights of protection keys, which the emulator does not carry but XSAVE
// shows.
void reset_protection_keys() {
    constexpr unsigned first_rights = 0x5555'5554;
    // Determined once: in a virtual machine CPUID traps.
    static const bool there = has_protection_keys();
    if (there)
        asm volatile(".byte 0x0f, 0x01, 0xef" : : "a"(first_rights), "c"(0), "d"(0) : "memory");
}

}  // namespace

// The memory of one case.
class CaseEmulator::Source final : public PageSource {
  public:
    void set(const Case& test) {
        base_ = test.base();
        fill_code(test, std::span(code_));
        fill_memory(test, memory_);
    }

    bool read_pages(GuestAddress from, std::span<std::byte> to) override {
        const auto offset = from.value - base_;
        if (offset < code_bytes) {
            std::memcpy(to.data(), code_.data() + offset, to.size());
            return true;
        }
        const auto at =
            offset < constant_offset ? offset - data_offset : offset - constant_offset + data_bytes;
        std::memcpy(to.data(), memory_.data() + at, to.size());
        return true;
    }

  private:
    std::uint64_t base_ = 0;
    std::array<std::byte, code_bytes> code_;
    std::array<std::byte, memory_bytes> memory_;
};

CaseEmulator::CaseEmulator()
    : blocks_(1 << 18),
      value_slots_(1 << 19),
      parts_(1 << 16),
      reference_slots_(1 << 20),
      tables_(blocks_, value_slots_, parts_, reference_slots_),
      source_(std::make_unique<Source>()),
      sink_(std::make_unique<RecordingSink>(buffer_words)) {
    auto created = Emulator::create(tables_);
    if (!created) {
        std::fputs(created.error().message.c_str(), stderr);
        std::exit(2);
    }
    emulator_ = std::move(*created);
}

CaseEmulator::~CaseEmulator() = default;

void CaseEmulator::run(Slot& slot) {
    for (auto& outcome : slot.emulated) outcome.ending = Ending::lost;
    source_->set(slot.test);
    for (std::size_t level = 0; level < trace_levels; ++level) {
        if (!(slot.test.levels >> level & 1)) continue;
        // Indirect branches find their targets without the emulator only the second time.
        for (int times = slot.test.has_branch ? 2 : 1; times-- > 0;)
            run_level(slot, static_cast<TraceLevel>(level), slot.emulated[level]);
    }
}

void CaseEmulator::run_level(const Slot& slot, TraceLevel level, Outcome& outcome) {
    const auto& test = slot.test;
    outcome.ending = Ending::lost;
    sink_->recorded.clear();
    reset_protection_keys();
    outcome.cpu = test.start;
    EndAtCalls syscalls(SampleEnd::unsafe_syscall);
    const auto begun = emulator_->begin_sample(memory_map(test.base()), *source_);
    if (!begun) {
        std::fprintf(stderr, "%s\n", begun.error().message.c_str());
        return;
    }
    const auto result = emulator_->run(outcome.cpu, limits_for(level), syscalls, *sink_);
    outcome.signal = result.signal;
    outcome.fault_address = result.signal == SIGSEGV ? result.fault_address : GuestAddress{};
    auto& memory = emulator_->memory();
    memory.read(test.data(), std::span(outcome.memory).first(data_bytes));
    memory.read({test.base() + constant_offset}, std::span(outcome.memory).subspan(data_bytes));
    if (result.end == SampleEnd::fault) outcome.ending = Ending::fault;
    if (result.end == SampleEnd::unsupported_instruction) {
        const auto at = memory.readable_bytes(outcome.cpu.rip);
        const bool marker = !at.empty() && at[0] == std::byte{end_marker};
        outcome.ending = marker ? Ending::marker : Ending::single_stepped;
    }
    const auto problem =
        level != TraceLevel::none ? check_trace(slot, level, outcome) : std::string{};
    outcome.trace_problem.fill(0);
    std::copy_n(problem.begin(), std::min(problem.size(), outcome.trace_problem.size() - 1),
                outcome.trace_problem.begin());
}

std::string CaseEmulator::check_trace(const Slot& slot, TraceLevel level,
                                      const Outcome& outcome) const {
    const auto& words = sink_->recorded;
    const auto executed = count_executed(slot.test, outcome);
    if (outcome.ending == Ending::fault && executed == 0)
        return words.empty() ? std::string{} : "the trace has a block that faulted at once";
    if (outcome.ending != Ending::marker && outcome.ending != Ending::fault) return {};
    if (words.empty()) return "the trace is empty";
    std::uint64_t instructions = 0;
    for (std::size_t i = 0; i < words.size();) {
        if (words[i] >= tables_.size())
            return fmt::format("word {} of the trace is not a block: {:#x}", i, words[i]);
        const auto& block = tables_[static_cast<BlockId>(words[i])];
        if (i == 0 && block.start != slot.test.code_start())
            return fmt::format("the trace begins at {:#x}", block.start.value);
        instructions += block.instructions;
        i += 1u + block.value_words;
        if (i > words.size()) return "the trace ends within a record";
    }
    if (!slot.test.has_branch && instructions != executed)
        return fmt::format("the trace has {} instructions, not {}", instructions, executed);
    if (level == TraceLevel::references)
        return check_references(slot.test, slot.native, words, tables_);
    if (outcome.ending != Ending::marker || slot.test.instructions != 1) return {};
    const auto problem = check_known(slot);
    return problem.empty() ? check_values(slot, 0) : problem;
}

std::string CaseEmulator::check_known(const Slot& slot) const {
    const auto in =
        Instruction::decode(std::as_bytes(slot.test.code_span()), slot.test.code_start());
    if (!in || in->flow() != Flow::next) return {};
    ValueTracker tracker;
    for (std::uint8_t i = 0; i < 16; ++i) tracker.set(i, {.sum = slot.test.start.gpr[i]});
    const auto result = tracker.result_of(*in);
    tracker.forget_written(*in);
    for (const auto& operand : in->operands())
        if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && is_gpr(operand.reg.value) &&
            (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            tracker.set_recorded(*in, operand, 0);
    if (result && in->operands()[0].size >= 32)
        tracker.set(gpr_number(in->operands()[0].reg.value), *result);
    for (std::uint8_t i = 0; i < 16; ++i) {
        if (slot.test.unknown_gprs >> i & 1 || !tracker[i]) continue;
        const auto after = slot.native.cpu.gpr[i];
        if (tracker[i]->is_constant() ? tracker[i]->sum != after
                                      : tracker[i]->width_bytes == 4 && after >> 32 != 0)
            return fmt::format("register {} is taken for known", i);
    }
    return {};
}

std::string CaseEmulator::check_values(const Slot& slot, std::size_t record) const {
    const auto& words = sink_->recorded;
    const auto& block = tables_[static_cast<BlockId>(words[record])];
    const auto& cpu = slot.native.cpu;
    std::size_t at = record + 1;
    for (const auto& value : tables_.slots_of(block)) {
        const auto reg = static_cast<ZydisRegister>(value.reg);
        // The words of a wide value are pushed downwards, so the last recorded word is the lowest.
        std::array<std::byte, 64> recorded{}, expected{};
        for (std::size_t w = 0; w < value.words; ++w)
            std::memcpy(&recorded[8 * (value.words - 1u - w)], &words[at + w], 8);
        if (value.words == 0) {
            // A single instruction has no other result that its result could follow from.
            if (value.source != ValueSlot::no_source) return "a value without words has a source";
            const auto constant = std::int64_t{value.addend};
            std::memcpy(recorded.data(), &constant, sizeof constant);
        }
        if (is_gpr(reg))
            std::memcpy(expected.data(), &cpu.gpr[gpr_number(reg)], 8);
        else
            expected = vector_register(cpu, static_cast<unsigned>(ZydisRegisterGetId(reg)));
        const bool known = !is_gpr(reg) || !(slot.test.unknown_gprs >> gpr_number(reg) & 1);
        if (known && std::memcmp(recorded.data(), expected.data(), value.width_bytes) != 0)
            return fmt::format("recorded value of {} is wrong", ZydisRegisterGetString(reg));
        at += value.words;
    }
    return {};
}

}  // namespace shadowprof
