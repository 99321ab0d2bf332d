// Finds the first instruction of an interval after which emulation and hardware differ. The
// interval is run again and again from a replica of its start. The emulator can stop after any
// number of blocks, the hardware at a breakpoint that it meets for the n-th time, or after
// single-steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_map.h"
#include "emu/worker/worker_process.h"
#include "ptrace/replica/replica.h"
#include "ptrace/thread/breakpoint.h"

namespace shadowprof {

// The program's native state at the end of a diverged interval.
struct NativeEnd {
    std::optional<CpuState> cpu;          // nothing: it did not reach the emulation's end
    std::vector<MemoryDifference> bytes;  // bytes that differ from the emulation's
};

class Narrowing {
  public:
    // `start` is the state of `replica`. `instruction`: see Replica::copy(). The worker must be
    // free for this, and must begin anew afterwards.
    Narrowing(WorkerProcess& worker, Replica replica, const CpuState& start, NativeEnd end,
              const MemoryMap& map, GuestAddress instruction, GuestAddress flipped,
              BreakpointKind breakpoints);

    // Returns what was found, as lines to print. An error says why nothing was found.
    Result<std::vector<std::string>> run();

  private:
    using Clock = std::chrono::steady_clock;

    // Where a number of blocks ends.
    struct Point {
        CpuState cpu;
        std::uint64_t blocks = 0;
        std::uint64_t instructions = 0;
        SampleEnd end = SampleEnd::size;
        bool at_syscall = false;
    };
    using BlockUser = std::function<void(std::uint64_t index, const BlockInfo& block)>;

    Result<Point> emulate(const RunLimits& limits, const BlockUser& use = {});
    Result<bool> halve(std::uint64_t& blocks);
    Result<std::uint64_t> rare_point(std::uint64_t blocks);
    Result<std::optional<Replica>> run_natively(const Point& to, std::uint64_t times);
    Result<Replica> copy_of_base();
    Result<Replica> run_to_end(const Point& end);
    Result<std::vector<std::string>> explain_agreement(Replica& native);
    Result<Replica> step_natively(std::uint64_t instructions);
    Result<bool> step(Replica& native) const;
    Result<std::vector<std::string>> compare(Replica& native, CpuState emulated);
    void move_base(Replica native, const Point& point);
    Result<bool> step_blocks(std::uint64_t blocks);
    Result<std::vector<std::string>> step_instructions();
    std::vector<std::string> describe_range(std::uint64_t blocks) const;
    std::vector<std::string> describe(const std::vector<std::string>& found) const;

    WorkerProcess& worker_;
    std::unique_ptr<Replica> base_;  // emulation and hardware are equal here
    CpuState state_;                 // its registers
    const NativeEnd end_;
    const MemoryMap map_;
    const GuestAddress syscall_instruction_;
    const GuestAddress flipped_;
    const BreakpointKind breakpoints_;
    const Clock::time_point limit_;
    std::uint64_t reach_ = 8192;            // how many blocks from the base the next look may be
    std::uint64_t instructions_ = 0;        // from the interval's start to the base
    std::uint64_t block_instructions_ = 0;  // in the block that differs
};

}  // namespace shadowprof
