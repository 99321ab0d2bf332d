#include "emu/watch/stack_watch.h"

#include <algorithm>
#include <array>

#include "decoder/decode_at.h"
#include "emu/watch/accesses.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
constexpr int max_instructions_behind = 64;
constexpr int max_loads_of_handler = 16;
// Loads that move the stack pointer no further, and behind which the function goes on, may make
// room in its frame, or give it back.
constexpr std::uint64_t max_room_bytes = std::uint64_t{1} << 20;
// Further apart, threads may come back to where they have left a stack.
constexpr std::uint64_t far_bytes = std::uint64_t{64} << 10;
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

// GCC's unwinder goes to the handler of an exception by `mov [rbp+rdx+8], handler`, which replaces
// the return address of a call of the function that handles it, some loads of registers, and a
// load of the stack pointer.
bool StackWatch::replaces_return_address(const Instruction& instruction) const {
    const auto operands = instruction.operands();
    const bool is_store = instruction.mnemonic() == ZYDIS_MNEMONIC_MOV &&
                          operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                          operands[0].mem.base == ZYDIS_REGISTER_RBP &&
                          operands[0].mem.index != ZYDIS_REGISTER_NONE &&
                          operands[0].mem.scale == 1 && operands[0].mem.disp.value == word_bytes &&
                          operands[0].size == 64;
    if (!is_store) return false;
    GuestAddress at = instruction.next();
    for (int i = 0; i < max_loads_of_handler; ++i) {
        const auto next = decode_at(memory_, at);
        if (!next || next->flow() != Flow::next) return false;
        if (source_of(*next)) return true;
        at = next->next();
    }
    return false;
}

void StackWatch::remember_replaced(const Instruction& instruction, const CpuState& cpu) {
    replaced_.reset();
    const auto accesses = accesses_of(instruction, cpu);
    if (!accesses) return;
    for (const Access& access : *accesses)
        if (const auto value = read_value<GuestAddress>(memory_, access.address))
            replaced_ = {access.address.value, *value};
}

bool StackWatch::watches(const Instruction& instruction) {
    const bool is_store = replaces_return_address(instruction);
    if (is_store)
        stores_.insert_or_assign(instruction.address(), instruction);
    else if (!stores_.empty())
        stores_.erase(instruction.address());
    const auto source = source_of(instruction);
    if (!source) {
        if (!loads_.empty()) loads_.erase(instruction.address());
        return is_store;
    }
    Load load{.instruction = instruction, .source = *source};
    look_behind(load);
    loads_.insert_or_assign(instruction.address(), load);
    return true;
}

// GCC's unwinder and Boost's contexts return by a pop and a jump. setcontext(3) pushes the address
// that it returns to.
void StackWatch::look_behind(Load& load) const {
    GuestAddress at = load.instruction.next();
    std::optional<ZydisRegister> popped;
    std::int64_t bytes = 0, before_pop = 0;
    for (int i = 0; i < max_instructions_behind; ++i) {
        const auto instruction = decode_at(memory_, at);
        if (!instruction) return;
        load.end = instruction->flow();
        load.returns_by_jump = load.end == Flow::indirect_jump && popped &&
                               is_register(instruction->operands()[0], *popped);
        if (load.returns_by_jump) load.behind_bytes = before_pop;
        if (load.end == Flow::ret) load.behind_bytes = bytes;
        if (load.end != Flow::next) return;
        const auto added = added_bytes(*instruction);
        if (!added) return;
        if (instruction->mnemonic() == ZYDIS_MNEMONIC_POP) {
            popped = instruction->operands()[0].reg.value;
            before_pop = bytes;
        }
        bytes += *added;
        load.grows |= *added < 0;
        if (!load.grows) load.behind_bytes = bytes;
        at = instruction->next();
    }
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
    if (const auto store = stores_.find(pc); store != stores_.end())
        remember_replaced(store->second, cpu);
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
    const std::uint64_t distance = std::max(from, to) - std::min(from, to);
    if (!is_sum && !leaves && distance <= max_room_bytes) return std::nullopt;
    Change change{.from = from, .to = to, .returns_by_jump = load.returns_by_jump};
    const auto behind = left_at_.upper_bound(to);
    const auto left = behind == left_at_.begin() ? left_at_.end() : std::prev(behind);
    const bool is_known = left != left_at_.end() && to - left->first <= left->second;
    const bool is_back = is_known && to - left->first <= max_switch_bytes;
    const bool is_above = to > from && to - from <= max_stack_bytes;
    change.may_leave_frames = is_above && (to - from <= far_bytes || !is_known);
    std::uint64_t start = from;
    if (!change.may_leave_frames) {
        start = to - std::min(to, noted_stack_bytes);
        if (is_known) start = is_back ? left->first : std::min(left->first, start);
    }
    find_words(start, to - start, change.words);
    if (leaves && !load.grows) add_top(to, change.words);
    if (is_back) left_at_.erase(left);
    if (to < from || to - from > far_bytes) add_left(from, noted_stack_bytes);
    return change;
}

void StackWatch::add_top(std::uint64_t stack_pointer, std::vector<Words>& words) const {
    std::vector<Words> top;
    find_words(stack_pointer, word_bytes, top);
    if (!top.empty() && replaced_ && replaced_->address == stack_pointer)
        top[0].value = replaced_->value;
    words.insert(words.end(), top.begin(), top.end());
}

void StackWatch::add_left(std::uint64_t stack_pointer, std::uint64_t max_bytes) {
    if (left_at_.size() >= max_left) left_at_.clear();
    left_at_[stack_pointer] = max_bytes;
}

// Leaves out pages that cannot be read. A stack pointer may be any number: `start` plus `bytes` may
// be beyond the last address.
void StackWatch::find_words(std::uint64_t start, std::uint64_t bytes,
                            std::vector<Words>& words) const {
    CodeFinder code(memory_);
    std::array<std::uint64_t, page_bytes / word_bytes> page;
    const std::uint64_t misaligned = (word_bytes - start % word_bytes) % word_bytes;
    std::uint64_t left = (bytes - std::min(bytes, misaligned)) / word_bytes;
    start += misaligned;
    while (left != 0) {
        const auto in_page = (page_bytes - start % page_bytes) / word_bytes;
        const auto part = std::span(page).first(std::min(in_page, left));
        left -= part.size();
        if (!memory_.read({start}, std::as_writable_bytes(part))) {
            start += part.size_bytes();
            continue;
        }
        for (const std::uint64_t value : part) {
            if (code.is_code({value})) {
                if (!words.empty() && words.back().value == GuestAddress{value})
                    ++words.back().count;
                else
                    words.push_back({{value}, start, 1});
            }
            start += word_bytes;
        }
    }
}

}  // namespace shadowprof
