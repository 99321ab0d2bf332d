// Executions by function and instruction, for formats like callgrind's.
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
    std::uint64_t instructions = 0;  // executed in the callee and its callees
};

struct FunctionCosts;

// A branch within a module that was taken.
struct JumpCosts {
    std::uint64_t to = 0;
    std::uint32_t to_line = 0;
    bool conditional = false;
    std::uint64_t taken = 0;
    std::uint64_t executed = 0;               // for a conditional branch
    const FunctionCosts* function = nullptr;  // the function that `to` is in; null: the branch's
                                              // own
};

struct LineCosts {
    std::string file;
    std::uint32_t line = 0;
    std::uint64_t instructions = 0;
    std::map<CodeLocation, CallCosts> calls;  // by the start of the callee
    std::vector<JumpCosts> jumps;
};

struct FunctionCosts {
    std::string name, file;
    std::uint32_t line = 0;
    std::map<std::uint64_t, LineCosts> places;  // by address
};

struct ExecutionCosts {
    std::map<CodeLocation, FunctionCosts> functions;  // by start
    std::uint64_t instructions = 0;                   // the sum over all places
    std::vector<std::string> notes;  // what is less precise than it should be, and why

    const FunctionCosts* find(CodeLocation start) const {
        const auto found = functions.find(start);
        return found == functions.end() ? nullptr : &found->second;
    }
};

// Computes costs from edges (instruction_counts.h) and stacks. The files of the modules are read
// for their code and for source lines that the profile lacks. If a module's file is not available,
// its functions have the instructions that stacks count, all of them at the function's start.
ExecutionCosts execution_costs(const Profile& profile, SymbolSource& recorded);

// The error of formats that need edges.
Error no_edges();

}  // namespace shadowprof
