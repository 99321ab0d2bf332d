// What executed, by function and instruction: the matter of formats in callgrind's manner.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

struct CallCosts {
    // At least 1. Includes the caller's share of entries by tail calls.
    std::uint64_t count = 0;
    std::uint64_t instructions = 0;  // executed in the callee and what it called
};

struct FunctionCosts;

// A branch that was taken, within its module.
struct JumpCosts {
    std::uint64_t to = 0;
    std::uint32_t to_line = 0;
    bool conditional = false;
    std::uint64_t taken = 0;
    std::uint64_t executed = 0;               // of a conditional one
    const FunctionCosts* function = nullptr;  // that `to` is in; null: the branch's own
};

struct PlaceCosts {
    std::string file;
    std::uint32_t line = 0;
    std::uint64_t instructions = 0;
    std::map<CodeLocation, CallCosts> calls;  // by the start of the callee
    std::vector<JumpCosts> jumps;
};

struct FunctionCosts {
    std::string name, file;
    std::uint32_t line = 0;
    std::map<std::uint64_t, PlaceCosts> places;  // by address
};

struct ExecutionCosts {
    std::map<CodeLocation, FunctionCosts> functions;  // by start
    std::uint64_t instructions = 0;                   // the sum over all places
    std::vector<std::string> notes;                   // what is coarser than it should be, and why

    const FunctionCosts* find(CodeLocation start) const {
        const auto found = functions.find(start);
        return found == functions.end() ? nullptr : &found->second;
    }
};

// From edges (instruction_counts.h) and stacks. The files of the modules are read for their code
// and for the lines of instructions that the profile does not speak of. Of a module whose file is
// not to be had, functions have what stacks say that they executed, all of it at their start.
ExecutionCosts execution_costs(const Profile& profile, SymbolSource& recorded);

// The error of formats that are made of edges.
Error no_edges();

}  // namespace shadowprof
