// How often each instruction was executed, from the edges of a profile alone.
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

// Copies code from an ELF virtual address on; returns how many bytes it had. ElfFile::read().
using CodeReader = std::function<std::size_t(std::uint64_t address, std::span<std::byte> to)>;

// The instructions of one module that were executed, by ascending address.
//
// Control enters a run of instructions at the targets of edges and leaves it at its branch, whose
// fall-through is an edge as well, and calls come back by return edges: an instruction was executed
// as often as edges lead to it, and to those before it that have no branch between. This is exact
// but for what no edge tells of. Where a sample begins in the middle of a run, or ends there, the
// instructions of that run that are before the begin, or behind the end, are wrong by one; of a
// branch, the larger of what came to it and what left it counts. What enters a function at its
// first instruction without an edge (the kernel: a program's start, a signal's handler) counts from
// there. System calls do not end a run, so that those which never return count on up to the next
// branch.
//
// Needs: `symbols` knows where the functions begin that hold branches; without, entries from the
// kernel count for their first branch alone.
std::vector<InstructionCount> count_instructions(const Profile& profile, std::uint32_t module,
                                                 const CodeReader& code, SymbolSource& symbols);

// Instructions from one to which control came, up to the first branch.
struct ExecutedRun {
    std::uint64_t start = 0;
    std::uint64_t branch = 0;  // address of that branch
    std::uint64_t executions = 0;
};

// Where control entered the code of one module, by taken branches and by fall-through edges alike,
// and how far it went at least; by descending start. Each executed instruction is in runs as often
// as edges say that it was executed; entries without an edge are not among them.
std::vector<ExecutedRun> executed_runs(const Profile& profile, std::uint32_t module,
                                       const CodeReader& code);

}  // namespace shadowprof
