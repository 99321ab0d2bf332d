#include "emu/watch/python_watch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "decoder/decode_at.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t max_eval_bytes = 1 << 20;
// The interpreter stores the address of its variable soon after its entry.
constexpr int max_prologue_instructions = 64;
constexpr int max_instructions_to_caller = 32;
constexpr std::size_t max_cold_instructions = 1 << 14;
constexpr int max_interpreters = 16, max_threads = 1024;

const ZydisDecodedOperand* written_memory(const Instruction& instruction) {
    for (const ZydisDecodedOperand& operand : instruction.operands())
        if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
            operand.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT &&
            (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0)
            return &operand;
    return nullptr;
}

bool is_on_stack(ZydisRegister base) {
    return base == ZYDIS_REGISTER_RSP || base == ZYDIS_REGISTER_RBP;
}

// Surrogates and what is beyond Unicode become '?'.
void append_utf8(std::string& text, std::uint32_t character) {
    const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    const auto add_rest = [&](int bits) { add(0x80 | (character >> bits & 0x3f)); };
    if (character < 0x80) {
        add(character);
    } else if (character < 0x800) {
        add(0xc0 | character >> 6);
        add_rest(0);
    } else if (character >= 0x11'0000 || (character >= 0xd800 && character < 0xe000)) {
        add('?');
    } else if (character < 0x1'0000) {
        add(0xe0 | character >> 12);
        add_rest(6);
        add_rest(0);
    } else {
        add(0xf0 | character >> 18);
        add_rest(12);
        add_rest(6);
        add_rest(0);
    }
}

}  // namespace

bool PythonWatch::watches(GuestAddress address) {
    if (!has_events_ && address >= program_.eval_start && address < program_.eval_end)
        find_events();
    return is_watched(address);
}

// Looks for `lea R, [rsp + n]` and a store of R to PyThreadState::cframe.
void PythonWatch::find_stack_slot() {
    std::optional<StackSlot> address;
    ZydisRegister holder = ZYDIS_REGISTER_NONE;
    GuestAddress at = program_.eval_start;
    for (int i = 0; i < max_prologue_instructions && !slot_; ++i) {
        const auto instruction = decode_at(memory_, at);
        if (!instruction) return;
        const auto operands = instruction->operands();
        if (instruction->mnemonic() == ZYDIS_MNEMONIC_LEA && is_on_stack(operands[1].mem.base) &&
            operands[1].mem.index == ZYDIS_REGISTER_NONE) {
            holder = operands[0].reg.value;
            address = {operands[1].mem.base, operands[1].mem.disp.value};
        }
        const auto* to = written_memory(*instruction);
        const bool is_store = instruction->mnemonic() == ZYDIS_MNEMONIC_MOV && to &&
                              operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
        if (is_store && address && operands[1].reg.value == holder && !is_on_stack(to->mem.base) &&
            to->mem.disp.value == *layout_.thread_cframe)
            slot_ = {address->base, address->offset + layout_.current_frame};
        at = instruction->next();
    }
}

bool PythonWatch::writes_slot(const Instruction& instruction) const {
    const auto* to = written_memory(instruction);
    if (!to || to->mem.index != ZYDIS_REGISTER_NONE || instruction.flow() != Flow::next)
        return false;
    const std::int64_t start = to->mem.disp.value, end = start + to->size / 8;
    if (slot_)
        return to->mem.base == slot_->base && start <= slot_->offset && slot_->offset + 8 <= end;
    return !is_on_stack(to->mem.base) && start == layout_.current_frame && to->size == 64;
}

// Compilers may store which frame it was called from behind the frame itself.
GuestAddress PythonWatch::behind_caller(const Instruction& frame_store) {
    GuestAddress at = frame_store.next();
    for (int i = 0; i < max_instructions_to_caller; ++i) {
        const auto instruction = decode_at(memory_, at);
        if (!instruction || instruction->flow() != Flow::next) break;
        at = instruction->next();
        const auto* to = written_memory(*instruction);
        const bool is_store = to && to->mem.index == ZYDIS_REGISTER_NONE &&
                              to->mem.base != ZYDIS_REGISTER_RSP && to->size == 64 &&
                              to->mem.disp.value == layout_.frame_previous;
        if (is_store) return at;
    }
    return frame_store.next();
}

void PythonWatch::look_at(const Instruction& instruction) {
    if (instruction.flow() == Flow::ret) events_[instruction.address()] = Event::leaves;
    if (writes_slot(instruction)) events_[behind_caller(instruction)] = Event::frame_set;
}

void PythonWatch::find_events() {
    if (program_.eval_end - program_.eval_start > max_eval_bytes) return;
    if (!decode_at(memory_, program_.eval_start)) return;
    has_events_ = true;
    if (layout_.thread_cframe) find_stack_slot();
    if (layout_.thread_cframe && !slot_) return;
    std::vector<GuestAddress> outside;
    for (GuestAddress at = program_.eval_start; at < program_.eval_end;) {
        const auto instruction = decode_at(memory_, at);
        if (!instruction) {
            at = at + 1;
            continue;
        }
        look_at(*instruction);
        const Flow flow = instruction->flow();
        if (flow == Flow::jump || flow == Flow::conditional) {
            const auto target = instruction->branch_target();
            if (target < program_.eval_start || target >= program_.eval_end)
                outside.push_back(target);
        }
        at = instruction->next();
    }
    look_at_cold_code(std::move(outside));
}

// Compilers move what is seldom executed out of the function.
void PythonWatch::look_at_cold_code(std::vector<GuestAddress> entries) {
    std::unordered_set<GuestAddress> seen;
    while (!entries.empty() && seen.size() < max_cold_instructions) {
        const auto at = entries.back();
        entries.pop_back();
        const bool is_inside = at >= program_.eval_start && at < program_.eval_end;
        if (is_inside || !seen.insert(at).second) continue;
        const auto instruction = decode_at(memory_, at);
        if (!instruction) continue;
        look_at(*instruction);
        const Flow flow = instruction->flow();
        if (flow == Flow::jump || flow == Flow::conditional)
            entries.push_back(instruction->branch_target());
        const bool goes_on = flow == Flow::next || flow == Flow::conditional ||
                             flow == Flow::call || flow == Flow::indirect_call;
        if (goes_on) entries.push_back(instruction->next());
    }
}

std::optional<GuestAddress> PythonWatch::thread_state(const CpuState& cpu) {
    const auto is_of_thread = [&](GuestAddress state) {
        return value<std::uint64_t>(state, layout_.thread_id) == cpu.fs_base;
    };
    const auto known = thread_states_.find(cpu.fs_base);
    if (known != thread_states_.end() && is_of_thread(known->second)) return known->second;
    auto interpreter = value<GuestAddress>(program_.runtime, layout_.runtime_interpreters);
    for (int i = 0; i < max_interpreters && interpreter && interpreter->value != 0; ++i) {
        auto thread = value<GuestAddress>(*interpreter, layout_.interpreter_threads);
        for (int j = 0; j < max_threads && thread && thread->value != 0; ++j) {
            if (is_of_thread(*thread)) return thread_states_[cpu.fs_base] = *thread;
            thread = value<GuestAddress>(*thread, layout_.thread_next);
        }
        interpreter = value<GuestAddress>(*interpreter, layout_.interpreter_next);
    }
    return std::nullopt;
}

// Needs a thread in the interpreter, as that may keep the frame on its stack.
std::optional<GuestAddress> PythonWatch::current_frame(const CpuState& cpu) {
    if (slot_) {
        const auto base = cpu[slot_->base == ZYDIS_REGISTER_RSP ? Gpr::rsp : Gpr::rbp];
        return value<GuestAddress>({base}, static_cast<std::uint64_t>(slot_->offset));
    }
    const auto state = thread_state(cpu);
    if (!state) return std::nullopt;
    return value<GuestAddress>(*state, layout_.current_frame);
}

bool PythonWatch::is_of_function(GuestAddress frame) {
    return !layout_.frame_owner ||
           value<std::uint8_t>(frame, *layout_.frame_owner) != python_owner_interpreter;
}

// Needs a frame of a function.
std::optional<PythonFrame> PythonWatch::frame(GuestAddress at) {
    const auto code = value<GuestAddress>(at, layout_.frame_code);
    auto previous = value<GuestAddress>(at, layout_.frame_previous);
    if (!code || !previous) return std::nullopt;
    // Builds for debugging or without a global lock keep other things there.
    if (value<GuestAddress>(*code, layout_.object_type) != program_.code_type) return std::nullopt;
    PythonFrame frame{.frame = at, .code = *code, .previous = *previous};
    if (layout_.frame_is_entry) {
        frame.is_entry = value<std::uint8_t>(at, *layout_.frame_is_entry).value_or(0) != 0;
    } else if (previous->value != 0 && !is_of_function(*previous)) {
        frame.is_entry = true;
        frame.previous =
            value<GuestAddress>(*previous, layout_.frame_previous).value_or(GuestAddress{});
    }
    return frame;
}

std::vector<PythonFrame> PythonWatch::frames(const CpuState& cpu) {
    std::vector<PythonFrame> frames;
    auto& thread = threads_[cpu.fs_base] = {};
    const auto state = thread_state(cpu);
    if (!state) return frames;
    auto base = state;
    if (layout_.thread_cframe) base = value<GuestAddress>(*state, *layout_.thread_cframe);
    if (!base) return frames;
    auto at = value<GuestAddress>(*base, layout_.current_frame);
    thread.frame = at.value_or(GuestAddress{});
    if (at && at->value != 0 && !is_of_function(*at))
        at = value<GuestAddress>(*at, layout_.frame_previous);
    if (at) frames = frames_from(*at);
    if (!frames.empty()) thread.function = frames[0];
    return frames;
}

std::vector<PythonFrame> PythonWatch::frames_from(GuestAddress at) {
    std::vector<PythonFrame> frames;
    while (at.value != 0 && frames.size() < max_frames) {
        const auto next = frame(at);
        if (!next) break;
        frames.push_back(*next);
        at = next->previous;
    }
    return frames;
}

// `last` is the innermost frame that was in progress before.
std::vector<PythonFrame> PythonWatch::callers_elsewhere(const PythonFrame& frame,
                                                        const std::optional<PythonFrame>& last) {
    const bool is_elsewhere = last && frame.previous != last->frame && frame.frame != last->frame &&
                              frame.frame != last->previous;
    return is_elsewhere ? frames_from(frame.previous) : std::vector<PythonFrame>{};
}

std::optional<PythonWatch::Step> PythonWatch::step(GuestAddress pc, const CpuState& cpu) {
    const auto event = events_.find(pc);
    if (event == events_.end()) return std::nullopt;
    auto& thread = threads_[cpu.fs_base];
    if (event->second == Event::leaves) {
        if (layout_.frame_is_entry && thread.function)
            thread.function = frame(thread.function->previous);
        return Step{};
    }
    const auto at = current_frame(cpu);
    if (!at || at->value == 0) return std::nullopt;
    if (!slot_ && *at == thread.frame) return std::nullopt;
    thread.frame = *at;
    // Where the thread's state has the frame, it is that of the caller just before the interpreter
    // is left.
    const auto caller = std::exchange(thread.caller, GuestAddress{});
    if (!slot_ && *at == caller) return std::nullopt;
    if (!is_of_function(*at)) {
        thread.caller = value<GuestAddress>(*at, layout_.frame_previous).value_or(GuestAddress{});
        thread.function = frame(thread.caller);
        return Step{};
    }
    const auto frame = this->frame(*at);
    if (!frame) return std::nullopt;
    const auto last = std::exchange(thread.function, frame);
    return Step{frame, callers_elsewhere(*frame, last)};
}

std::optional<std::string> PythonWatch::text(GuestAddress at) {
    const auto length = value<std::uint64_t>(at, layout_.text_length);
    const auto state = value<std::uint32_t>(at, layout_.text_state);
    if (!length || !state) return std::nullopt;
    const std::uint32_t width = *state >> 2 & 7;
    const bool is_compact = (*state >> 5 & 1) != 0, is_ascii = (*state >> 6 & 1) != 0;
    if (!is_compact || (width != 1 && width != 2 && width != 4)) return std::nullopt;
    const auto characters = std::min<std::uint64_t>(*length, PythonCode::max_text_bytes);
    std::vector<std::byte> bytes(characters * width);
    if (!memory_.read(at + (is_ascii ? layout_.text_ascii : layout_.text_other), bytes))
        return std::nullopt;
    std::string result;
    for (std::size_t i = 0; i < characters; ++i) {
        std::uint32_t character = 0;
        std::memcpy(&character, bytes.data() + i * width, width);
        const auto before = result.size();
        append_utf8(result, character);
        if (result.size() <= PythonCode::max_text_bytes) continue;
        result.resize(before);
        break;
    }
    return result;
}

std::uint64_t PythonWatch::mark(GuestAddress code) {
    const auto name = value<std::uint64_t>(code, layout_.code_name).value_or(0);
    std::uint64_t mark = name;
    for (const auto part : {value<std::uint64_t>(code, layout_.code_file),
                            value<std::uint64_t>({name}, layout_.text_hash)})
        mark = mark * 0x9e37'79b9'7f4a'7c15 + part.value_or(0);
    return mark + value<std::uint32_t>(code, layout_.code_first_line).value_or(0);
}

std::optional<PythonCode> PythonWatch::code(GuestAddress code) {
    const auto file = value<GuestAddress>(code, layout_.code_file);
    const auto name = value<GuestAddress>(code, layout_.code_name);
    const auto line = value<std::uint32_t>(code, layout_.code_first_line);
    if (!file || !name || !line) return std::nullopt;
    auto file_text = text(*file), name_text = text(*name);
    if (!file_text || !name_text) return std::nullopt;
    return PythonCode{std::move(*file_text), std::move(*name_text), *line};
}

}  // namespace shadowprof
