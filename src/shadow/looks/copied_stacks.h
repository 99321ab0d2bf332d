// Unwinds copies of threads' stacks (StackCopy), and names what is found.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "profile/code/module_table.h"
#include "ptrace/unwind/stack_copy.h"
#include "ptrace/unwind/unwind.h"
#include "shadow/program/process_tree.h"

namespace shadowprof {

class CopiedStacks {
  public:
    using Clock = std::chrono::steady_clock;

    // `modules` must outlive it.
    explicit CopiedStacks(ModuleTable& modules) : modules_(modules) {}

    // The process that a stack is of.
    struct Owner {
        std::uint64_t number = 0;
        pid_t pid = 0;
        std::uint64_t exec_count = 0;  // Target::exec_count()
    };
    struct Frames {
        std::vector<CodeLocation> list;  // outermost first: return addresses, then where it is
        bool is_cut = false;             // the copy ended before the stack
    };
    // Returns at least where the thread is, unless no code is there. `registers` may lack those
    // that are not known: callers are then found as far as these are not needed.
    Frames frames(const Owner& owner, const CpuState& registers, const StackCopy& stack,
                  Clock::time_point now);

    // Forgets processes that had ended at the last call. Until then, their last stacks can be
    // unwound.
    void forget_ended(const ProcessTree& processes);
    void forget_all() { processes_.clear(); }

  private:
    struct Process {
        pid_t pid = 0;
        std::uint64_t exec_count = 0;
        MemoryMap map;
        Clock::time_point map_read;
        UniqueFd memory;
        bool has_ended = false;
        std::unique_ptr<Unwinder> unwinder;  // it keeps tables of this process's modules
    };

    Process& process_of(const Owner& owner);

    ModuleTable& modules_;
    std::map<std::uint64_t, Process> processes_;
};

}  // namespace shadowprof
