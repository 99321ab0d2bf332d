// Executions by function and instruction, for formats like callgrind's.
#pragma once

#include <map>
#include <optional>
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

// A branch within a module that was taken.
struct JumpCosts {
    std::uint64_t to = 0;
    std::uint32_t to_line = 0;
    bool conditional = false;
    std::uint64_t taken = 0;
    std::uint64_t executed = 0;            // for a conditional branch
    std::optional<CodeLocation> function;  // start of the function that `to` is in, if that is
                                           // not the branch's own
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

// The code of a file through which others are called.
struct LinkageTable {
    std::uint32_t module = 0;
    std::uint64_t begin = 0, end = 0;
};

struct ExecutionCosts {
    std::map<CodeLocation, FunctionCosts> functions;  // by start
    std::uint64_t instructions = 0;                   // the sum over all places
    std::vector<LinkageTable> linkage_tables;
    std::vector<std::string> notes;  // what is less precise than it should be, and why

    const FunctionCosts* find(CodeLocation start) const {
        const auto found = functions.find(start);
        return found == functions.end() ? nullptr : &found->second;
    }
};

// Computes costs from edges (instruction_counts.h), and those of calls from call costs, or else
// from stacks. The files of the modules are read for their code and for source lines that the
// profile lacks. If a module's file is not available, its functions have the instructions that
// stacks count, all of them at the function's start.
ExecutionCosts execution_costs(const Profile& profile, SymbolSource& recorded);

// The error of formats that need edges.
Error no_edges();

}  // namespace shadowprof
