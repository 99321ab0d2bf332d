#include "shadow/verify/narrowing.h"

#include <algorithm>
#include <csignal>
#include <string_view>
#include <unordered_map>

#include "base/text/numbered.h"
#include "decoder/decode_at.h"
#include "decoder/instruction.h"
#include "ptrace/proc/proc.h"
#include "ptrace/remote/rseq_area.h"
#include "ptrace/thread/breakpoint.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/thread_registers.h"
#include "shadow/emulation/owned_worker.h"
#include "shadow/exact/state_comparison.h"

namespace shadowprof {
namespace {

using Advance = StoppedThread::Advance;
using Kind = WaitStatus::Kind;

constexpr int answer_limit_ms = 20'000;
// The first look is near the start, where most differences are. Each next one is farther away by
// this factor.
constexpr std::uint64_t reach_growth = 8;
constexpr std::chrono::seconds longest_search{60};
// This few blocks are stepped through one by one.
constexpr std::uint64_t few_blocks = 48;

constexpr std::string_view emulator_lacked =
    "the hardware ends as before: the emulator's memory was not the program's when the interval "
    "began (a system call or another process wrote more than verify knows, or changed code went "
    "unnoticed)";
constexpr std::string_view came_from_outside =
    "the hardware ends otherwise than before: the difference came from outside, as from memory "
    "that others write to";

std::string place_of(GuestAddress address, const MemoryMap& map) {
    const auto* mapping = map.find(address);
    if (!mapping || mapping->name.empty()) return fmt::format("{:#x}", address.value);
    return fmt::format("{:#x} ({}, file offset {:#x})", address.value, mapping->name,
                       address - mapping->start + mapping->file_offset);
}

std::string disassemble(std::span<const std::byte> bytes, GuestAddress address) {
    ZydisDisassembledInstruction text;
    const auto status = ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, address.value,
                                              bytes.data(), bytes.size(), &text);
    if (!ZYAN_SUCCESS(status)) return "no instruction";
    std::string hex;
    for (std::size_t i = 0; i < text.info.length; ++i)
        hex += fmt::format(" {:02x}", static_cast<unsigned>(bytes[i]));
    return fmt::format("{}  [{}]", text.text, hex.substr(1));
}

}  // namespace

Narrowing::Narrowing(WorkerProcess& worker, Replica replica, const CpuState& start, NativeEnd end,
                     const MemoryMap& map, GuestAddress instruction, GuestAddress flipped,
                     BreakpointKind breakpoints)
    : worker_(worker),
      base_(std::make_unique<Replica>(std::move(replica))),
      state_(start),
      end_(std::move(end)),
      map_(map),
      syscall_instruction_(instruction),
      flipped_(flipped),
      breakpoints_(breakpoints),
      limit_(Clock::now() + longest_search) {}

Result<std::vector<std::string>> Narrowing::run() {
    TRY_ASSIGN(const auto whole, emulate({.instructions = RunLimits::unlimited}));
    if (whole.end != SampleEnd::size) {
        TRY_ASSIGN(auto native, run_to_end(whole));
        TRY_ASSIGN(const auto differing, compare(native, whole.cpu));
        if (differing.empty()) return explain_agreement(native);
    }
    auto blocks = whole.blocks;
    while (blocks > few_blocks) {
        if (Clock::now() > limit_) return describe_range(blocks);
        TRY_ASSIGN(const bool halved, halve(blocks));
        if (!halved) break;
    }
    if (blocks > few_blocks) return describe_range(blocks);
    TRY_ASSIGN(const bool found, step_blocks(blocks));
    if (found) return step_instructions();
    return std::vector<std::string>{
        "not narrowed down: run again from the same state, the interval differs as a whole, but "
        "none of its blocks does"};
}

// Emulation and hardware agree this time. Says which of them ended otherwise the first time.
Result<std::vector<std::string>> Narrowing::explain_agreement(Replica& native) {
    TRY_ASSIGN(auto snapshot, native.thread().snapshot());
    if (native.thread().status().kind() == Kind::syscall_stop) {
        TRY_ASSIGN(const auto registers, native.thread().registers());
        snapshot.cpu[Gpr::rax] = registers.orig_rax;
    }
    ProcessMemory memory(native.pid());
    const bool as_before =
        end_.cpu && differences(snapshot.cpu, *end_.cpu).empty() &&
        std::all_of(end_.bytes.begin(), end_.bytes.end(), [&](const MemoryDifference& d) {
            return read_value<std::uint8_t>(memory, d.address) == d.native;
        });
    return std::vector<std::string>{
        fmt::format("no instruction is wrong: run again from the same state, {}",
                    as_before ? emulator_lacked : came_from_outside)};
}

// Runs the emulator from the base on. `use` is called for each block, in the order of execution.
Result<Narrowing::Point> Narrowing::emulate(const RunLimits& limits, const BlockUser& use) {
    TRY_ASSIGN(const auto text, read_maps_text(base_->pid()));
    TRY(worker_.begin_exact({.kind = RunKind::exact,
                             .cpu = state_,
                             .limits = limits,
                             .maps_text = text,
                             .memory_fd = base_->memory_fd(),
                             .flipped = flipped_}));
    Point point;
    BlockInfo last;
    while (true) {
        const auto next = worker_.next_of_exact(answer_limit_ms);
        if (!next) return next.error();
        if (const auto* outcome = std::get_if<SampleOutcome>(&*next)) {
            point.cpu = outcome->cpu;
            point.end = outcome->result.end;
            point.at_syscall = outcome->result.syscalls != 0;
            // The instruction left to the hardware is in the record, but was not executed.
            const bool stands_before = point.instructions != 0 &&
                                       point.end == SampleEnd::unsupported_instruction &&
                                       last.last == point.cpu.rip;
            if (stands_before) --point.instructions;
            return point;
        }
        const auto* found = std::get_if<TraceSegment>(&*next);
        if (!found) return unasked_question();
        const auto& segment = *found;
        for (auto i = segment.words.size(); i-- > 0;) {
            const auto* block = worker_.table().find(segment.words[i]);
            if (!block) continue;
            if (use) use(point.blocks, *block);
            last = *block;
            // The record is a sequence of blocks if their number is not limited.
            point.blocks += std::max<std::uint64_t>(1, block->parts);
            point.instructions += block->instructions;
        }
        TRY(worker_.free_segment(segment.index));
    }
}

// Returns how many blocks, about half of `blocks`, lead to one that was rare before.
Result<std::uint64_t> Narrowing::rare_point(std::uint64_t blocks) {
    std::unordered_map<std::uint64_t, std::uint64_t> times;  // by address
    std::uint64_t best = blocks / 2, fewest = ~std::uint64_t{0};
    RunLimits limits{.instructions = RunLimits::unlimited, .blocks = blocks - blocks / 4};
    TRY(emulate(limits, [&](std::uint64_t index, const BlockInfo& block) {
        const auto count = ++times[block.start.value];
        if (index < blocks / 4 || count >= fewest) return;
        fewest = count;
        best = index;
    }));
    return std::max<std::uint64_t>(best, 1);
}

// Makes `blocks` fewer: moves the base past what is equal at the beginning, or drops what follows a
// difference. Returns false if the hardware cannot be stopped in between.
Result<bool> Narrowing::halve(std::uint64_t& blocks) {
    TRY_ASSIGN(const auto middle, rare_point(std::min(blocks, reach_)));
    const RunLimits limits{.instructions = RunLimits::unlimited, .blocks = middle};
    std::unordered_map<std::uint64_t, std::pair<BlockInfo, std::uint64_t>> seen;
    TRY_ASSIGN(const auto point, emulate(limits, [&](std::uint64_t, const BlockInfo& block) {
                   auto& entry = seen[block.start.value << 8 ^ block.end.value];
                   entry.first = block;
                   ++entry.second;
               }));
    std::uint64_t times = 1;
    for (const auto& [key, entry] : seen)
        if (entry.first.start <= point.cpu.rip && point.cpu.rip < entry.first.end)
            times += entry.second;
    TRY_ASSIGN(auto native, run_natively(point, times));
    bool equal = false;
    if (native) {
        TRY_ASSIGN(const auto found, compare(*native, point.cpu));
        equal = found.empty();
    }
    if (!equal) {
        if (middle >= blocks || Clock::now() > limit_) return false;
        blocks = middle;
        return true;
    }
    move_base(std::move(*native), point);
    blocks -= middle;
    reach_ *= reach_growth;
    return true;
}

void Narrowing::move_base(Replica native, const Point& point) {
    base_ = std::make_unique<Replica>(std::move(native));
    state_ = point.cpu;
    instructions_ += point.instructions;
}

// Keeps the copy's extended state, as a CpuState does not tell which components are in use, and
// XSAVEC stores that.
Result<Replica> Narrowing::copy_of_base() {
    TRY_ASSIGN(auto copy, base_->copy(syscall_instruction_));
    TRY_ASSIGN(auto registers, copy.thread().registers());
    store_general(state_, registers);
    registers.orig_rax = no_syscall;
    TRY(copy.thread().set_registers(registers));
    return copy;
}

// Returns a copy of the base that has come to `to` for the `times`-th time, or nothing if it does
// not come there.
Result<std::optional<Replica>> Narrowing::run_natively(const Point& to, std::uint64_t times) {
    TRY_ASSIGN(auto copy, copy_of_base());
    auto& thread = copy.thread();
    TRY_ASSIGN(auto breakpoint, Breakpoint::set(thread, to.cpu.rip, breakpoints_));
    for (std::uint64_t i = 0; i < times; ++i) {
        TRY_ASSIGN(const auto stop, breakpoint.advance(Advance::to_syscall));
        if (!stop.is_there) return std::optional<Replica>();
        if (Clock::now() > limit_) return std::optional<Replica>();
    }
    return std::optional<Replica>(std::move(copy));
}

// Returns a copy of the base that has come to where the emulation of the interval ended, or
// elsewhere.
Result<Replica> Narrowing::run_to_end(const Point& end) {
    TRY_ASSIGN(auto copy, copy_of_base());
    if (end.cpu.rip == state_.rip && end.instructions == 0) return copy;
    auto& thread = copy.thread();
    if (end.at_syscall || end.end == SampleEnd::fault) {
        TRY(thread.advance(Advance::to_syscall));
        return copy;
    }
    TRY_ASSIGN(auto breakpoint, Breakpoint::set(thread, end.cpu.rip, breakpoints_));
    TRY(breakpoint.advance(Advance::to_syscall));
    return copy;
}

Result<Replica> Narrowing::step_natively(std::uint64_t instructions) {
    TRY_ASSIGN(auto copy, copy_of_base());
    for (std::uint64_t i = 0; i < instructions; ++i) {
        TRY_ASSIGN(const bool goes_on, step(copy));
        if (!goes_on) break;
    }
    return copy;
}

// Executes one instruction with all its repetitions. PUSHF and SYSCALL would store the trap flag,
// so only branches are single-stepped; other instructions run to a breakpoint after them. Returns
// false if the thread stands at a system call's entry, or faulted.
Result<bool> Narrowing::step(Replica& native) const {
    auto& thread = native.thread();
    TRY_ASSIGN(const auto before, thread.registers());
    ProcessMemory memory(native.pid());
    const auto in = decode_at(memory, {before.rip});
    if (in && in->flow() == Flow::next) {
        TRY_ASSIGN(auto behind, Breakpoint::set(thread, in->next(), breakpoints_));
        TRY_ASSIGN(const auto stop, behind.advance(Advance::to_syscall));
        return stop.is_there;
    }
    if (in && in->flow() == Flow::syscall) {
        TRY(thread.advance(Advance::to_syscall));
        return false;
    }
    TRY_ASSIGN(const auto stop, shadowprof::step(thread));
    return stop.is_there;
}

Result<std::vector<std::string>> Narrowing::compare(Replica& native, CpuState emulated) {
    TRY_ASSIGN(auto snapshot, native.thread().snapshot());
    TRY_ASSIGN(const auto registers, native.thread().registers());
    if (native.thread().status().kind() == Kind::syscall_stop)
        snapshot.cpu[Gpr::rax] = registers.orig_rax;
    ProcessMemory reader(native.pid());
    adopt_dead_flags(snapshot.cpu, emulated, reader);
    auto found = differences(snapshot.cpu, emulated);
    TRY_ASSIGN(const auto rseq, read_rseq_area(native.thread()));
    TRY_ASSIGN(const auto memory,
               worker_.compare_memory({rseq.start, rseq.end}, native.memory_fd()));
    const auto bytes = differences(memory);
    found.insert(found.end(), bytes.begin(), bytes.end());
    return found;
}

// Moves the base to the block after which there is a difference. Returns false if there is none.
Result<bool> Narrowing::step_blocks(std::uint64_t blocks) {
    for (std::uint64_t i = 0; i < blocks; ++i) {
        TRY_ASSIGN(const auto point, emulate({.instructions = RunLimits::unlimited, .blocks = 1}));
        block_instructions_ = point.instructions;
        TRY_ASSIGN(auto native, step_natively(point.instructions));
        TRY_ASSIGN(const auto found, compare(native, point.cpu));
        if (!found.empty()) return true;
        move_base(std::move(native), point);
    }
    return false;
}

Result<std::vector<std::string>> Narrowing::step_instructions() {
    const auto block = state_.rip;
    for (std::uint64_t i = 0; i < block_instructions_; ++i) {
        TRY_ASSIGN(
            const auto point,
            emulate({.instructions = RunLimits::unlimited, .blocks = 1, .one_instruction = true}));
        TRY_ASSIGN(auto native, step_natively(1));
        TRY_ASSIGN(const auto found, compare(native, point.cpu));
        if (!found.empty()) return describe(found);
        move_base(std::move(native), point);
    }
    return std::vector<std::string>{
        fmt::format("in the block of {} at {}, but not when they are emulated one by "
                    "one",
                    numbered(block_instructions_, "instruction"), place_of(block, map_))};
}

std::vector<std::string> Narrowing::describe_range(std::uint64_t blocks) const {
    return {
        fmt::format("not narrowed down in time: within {} blocks after {} right instructions, "
                    "from {} on",
                    blocks, instructions_, place_of(state_.rip, map_))};
}

std::vector<std::string> Narrowing::describe(const std::vector<std::string>& found) const {
    std::array<std::byte, Instruction::max_length> bytes = {};
    ProcessMemory memory(base_->pid());
    (void)memory.read(state_.rip, bytes);
    std::vector<std::string> lines = {
        fmt::format("first wrong instruction, after {} right ones: {}", instructions_,
                    place_of(state_.rip, map_)),
        disassemble(bytes, state_.rip), "before: " + general_registers(state_)};
    lines.insert(lines.end(), found.begin(), found.end());
    return lines;
}

}  // namespace shadowprof
