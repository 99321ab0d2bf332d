#include "emu/watch/stack_watch.h"

#include <algorithm>
#include <array>

#include "emu/watch/accesses.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
constexpr int max_instructions_behind = 64;
// Loads of a register that lower the stack pointer no further may make room in a frame.
constexpr std::uint64_t max_room_bytes = std::uint64_t{1} << 20;
// Further apart, threads may come back to where they have left a stack.
constexpr std::uint64_t far_bytes = std::uint64_t{64} << 10;
// The frames of what switches stacks are smaller.
constexpr std::uint64_t switch_bytes = 512;
constexpr std::size_t max_left = std::size_t{1} << 16;

bool is_rsp(const ZydisDecodedOperand& operand) {
    return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value == ZYDIS_REGISTER_RSP;
}

bool is_register(const ZydisDecodedOperand& operand, ZydisRegister reg) {
    return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value == reg;
}

// What the instruction adds to the stack pointer, apart from what ends a block. Nothing if that
// depends on more than the instruction.
std::optional<std::int64_t> added_bytes(const Instruction& instruction) {
    const auto operands = instruction.operands();
    switch (instruction.mnemonic()) {
        case ZYDIS_MNEMONIC_PUSH:
        case ZYDIS_MNEMONIC_PUSHFQ:
            return -std::int64_t{instruction.zydis().operand_width / 8};
        case ZYDIS_MNEMONIC_POP:
        case ZYDIS_MNEMONIC_POPFQ:
            if (is_rsp(operands[0])) return std::nullopt;
            return instruction.zydis().operand_width / 8;
        default:
            break;
    }
    const bool writes = std::ranges::any_of(operands, [](const ZydisDecodedOperand& operand) {
        return is_rsp(operand) && (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    });
    if (!writes) return 0;
    if (instruction.mnemonic() == ZYDIS_MNEMONIC_LEA &&
        operands[1].mem.base == ZYDIS_REGISTER_RSP && operands[1].mem.index == ZYDIS_REGISTER_NONE)
        return operands[1].mem.disp.value;
    if (operands.size() < 2 || operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return std::nullopt;
    if (instruction.mnemonic() == ZYDIS_MNEMONIC_ADD) return operands[1].imm.value.s;
    if (instruction.mnemonic() == ZYDIS_MNEMONIC_SUB) return -operands[1].imm.value.s;
    return std::nullopt;
}

// Whether addresses point to code, with few questions to the map of memory.
class CodeFinder {
  public:
    explicit CodeFinder(const GuestSpace& memory) : memory_(memory) {}

    bool is_code(GuestAddress address) {
        for (const Range& range : known_)
            if (address >= range.start && address < range.end) return range.executable;
        const Mapping* mapping = memory_.find_at_or_after(address);
        Range range{{0}, {~std::uint64_t{0}}, false};
        if (mapping && address >= mapping->start)
            range = {mapping->start, mapping->end, mapping->executable};
        else if (mapping)
            range = {address, mapping->start, false};
        else
            range.start = address;
        known_[next_++ % known_.size()] = range;
        return range.executable;
    }

  private:
    struct Range {
        GuestAddress start, end;
        bool executable = false;
    };

    const GuestSpace& memory_;
    std::array<Range, 8> known_{};
    std::size_t next_ = 0;
};

}  // namespace

std::optional<StackWatch::Source> StackWatch::source_of(const Instruction& instruction) {
    const auto operands = instruction.operands();
    switch (instruction.mnemonic()) {
        case ZYDIS_MNEMONIC_MOV:
        case ZYDIS_MNEMONIC_POP:
        case ZYDIS_MNEMONIC_XCHG:
            if (!is_rsp(operands[0]) &&
                (instruction.mnemonic() != ZYDIS_MNEMONIC_XCHG || !is_rsp(operands[1])))
                return std::nullopt;
            if (instruction.mnemonic() == ZYDIS_MNEMONIC_MOV &&
                is_register(operands[1], ZYDIS_REGISTER_RBP))
                return std::nullopt;
            return Source::value;
        case ZYDIS_MNEMONIC_ADD:
            if (!is_rsp(operands[0]) || operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
                return std::nullopt;
            return Source::sum;
        default:
            return std::nullopt;
    }
}

bool StackWatch::watches(const Instruction& instruction) {
    const auto source = source_of(instruction);
    if (!source) {
        if (!loads_.empty()) loads_.erase(instruction.address());
        return false;
    }
    Load load{.instruction = instruction, .source = *source};
    look_behind(load);
    loads_.insert_or_assign(instruction.address(), load);
    return true;
}

void StackWatch::look_behind(Load& load) const {
    GuestAddress at = load.instruction.next();
    for (int i = 0; i < max_instructions_behind; ++i) {
        const auto instruction = decode(at);
        if (!instruction) return;
        load.end = instruction->flow();
        if (load.end != Flow::next) return;
        const auto added = added_bytes(*instruction);
        if (!added) return;
        load.behind_bytes += *added;
        at = instruction->next();
    }
}

std::optional<Instruction> StackWatch::decode(GuestAddress at) const {
    std::array<std::byte, Instruction::max_length> bytes;
    const std::size_t to_page_end = page_bytes - (at.value & (page_bytes - 1));
    for (const std::size_t length : {bytes.size(), std::min(bytes.size(), to_page_end)})
        if (const auto part = std::span(bytes).first(length); memory_.read(at, part))
            return Instruction::decode(part, at);
    return std::nullopt;
}

std::optional<std::uint64_t> StackWatch::loaded(const Load& load, const CpuState& cpu) const {
    const Instruction& instruction = load.instruction;
    for (const ZydisDecodedOperand& operand : instruction.operands())
        if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && !is_rsp(operand) &&
            is_gpr(operand.reg.value))
            return cpu.gpr[gpr_number(operand.reg.value)];
    const auto accesses = accesses_of(instruction, cpu);
    if (!accesses) return std::nullopt;
    for (const Access& access : *accesses)
        if (access.reads) return read_value<std::uint64_t>(memory_, access.address);
    return std::nullopt;
}

std::optional<StackWatch::Change> StackWatch::step(GuestAddress pc, const CpuState& cpu) {
    const auto known = loads_.find(pc);
    if (known == loads_.end()) return std::nullopt;
    const Load& load = known->second;
    const auto value = loaded(load, cpu);
    if (!value) return std::nullopt;
    const bool is_sum = load.source == Source::sum;
    const std::uint64_t from = cpu[Gpr::rsp];
    const std::uint64_t to =
        *value + (is_sum ? from : 0) + static_cast<std::uint64_t>(load.behind_bytes);
    const bool leaves = load.end == Flow::ret || load.end == Flow::indirect_jump;
    if (!is_sum && !leaves && to <= from && from - to <= max_room_bytes) return std::nullopt;
    Change change{.from = from, .to = to};
    const auto behind = left_at_.upper_bound(to);
    const auto left = behind == left_at_.begin() ? left_at_.end() : std::prev(behind);
    const bool is_known = left != left_at_.end() && to - left->first <= left->second;
    const bool is_above = to > from && to - from <= max_stack_bytes;
    change.may_leave_frames = is_above && (to - from <= far_bytes || !is_known);
    const std::uint64_t below = to - std::min(to, noted_stack_bytes);
    if (change.may_leave_frames)
        find_words(from, to, change.words);
    else
        find_words(is_known ? std::min(left->first, below) : below, to, change.words);
    if (is_known && to - left->first <= switch_bytes) left_at_.erase(left);
    if (to < from || to - from > far_bytes) add_left(from, noted_stack_bytes);
    return change;
}

void StackWatch::add_left(std::uint64_t stack_pointer, std::uint64_t max_bytes) {
    if (left_at_.size() >= max_left) left_at_.clear();
    left_at_[stack_pointer] = max_bytes;
}

// Leaves out pages that cannot be read.
void StackWatch::find_words(std::uint64_t start, std::uint64_t end,
                            std::vector<Words>& words) const {
    CodeFinder code(memory_);
    std::array<std::uint64_t, page_bytes / word_bytes> page;
    start = (start + word_bytes - 1) / word_bytes * word_bytes;
    while (start + word_bytes <= end) {
        const auto page_end = (start / page_bytes + 1) * page_bytes;
        const auto part = std::span(page).first((std::min(page_end, end) - start) / word_bytes);
        const bool has_page = memory_.read({start}, std::as_writable_bytes(part));
        for (const std::uint64_t value : has_page ? part : part.first(0)) {
            if (code.is_code({value})) {
                if (!words.empty() && words.back().value == GuestAddress{value})
                    ++words.back().count;
                else
                    words.push_back({{value}, start, 1});
            }
            start += word_bytes;
        }
        if (!has_page) start = page_end;
    }
}

}  // namespace shadowprof
