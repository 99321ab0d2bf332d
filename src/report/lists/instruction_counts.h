// Computes how often each instruction was executed from the edges of a profile.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "report/symbols/symbol_source.h"

namespace shadowprof {

struct InstructionCount {
    std::uint64_t address = 0;
    std::uint64_t executions = 0;
};

// Copies code from an ELF virtual address on and returns the number of bytes copied; see
// ElfFile::read().
using CodeReader = std::function<std::size_t(std::uint64_t address, std::span<std::byte> to)>;

// Returns the executed instructions of one module, by ascending address.
//
// Control enters a run of instructions at the targets of edges and leaves it at its branch.
// Fall-throughs are edges as well, and calls come back by return edges. So an instruction was
// executed as often as edges lead to it and to the instructions before it that no branch separates
// from it. This is exact except for control flow without edges. If a sample begins or ends in the
// middle of a run, the instructions before the begin or behind the end are wrong by one. For a
// branch, the larger of the counts into it and out of it is taken. Entries into a function's first
// instruction without an edge, by the kernel at a program's start or for a signal handler, count
// from there on. System calls do not end a run, so calls that never return count up to the next
// branch.
//
// Needs `symbols` that know the starts of functions with branches. Without them, entries by the
// kernel count only for their first branch.
std::vector<InstructionCount> count_instructions(const Profile& profile, std::uint32_t module,
                                                 const CodeReader& code, SymbolSource& symbols);

// Instructions from an entry of control to the first branch.
struct ExecutedRun {
    std::uint64_t start = 0;
    std::uint64_t branch = 0;  // address of the branch
    std::uint64_t executions = 0;
};

// Returns where control entered the code of one module, by taken branches and fall-through edges,
// and how far it went at least, by descending start. Each executed instruction is in as many runs
// as edges count its executions. Entries without an edge are missing.
std::vector<ExecutedRun> executed_runs(const Profile& profile, std::uint32_t module,
                                       const CodeReader& code);

}  // namespace shadowprof
