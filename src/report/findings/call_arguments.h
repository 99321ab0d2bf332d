// What calls pass to a function, as far as the code before the calls says.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "report/annotate/annotator.h"

namespace shadowprof {

struct CallSite {
    CodeLocation at;          // the call
    std::uint64_t count = 0;  // calls of the function from there
};

// A value that a call site passes most often in a register.
struct PassedValue {
    CallSite site;
    std::uint64_t value = 0;
    double share = 0;  // of the site's calls, at least
};

// An argument in a general register (System V ABI, 3.2.3).
struct PassedArgument {
    std::string name;         // "rdi"
    std::uint64_t value = 0;  // the most frequent one
    // Of all entries, at least; those whose value is not known count as having another one.
    double share = 0;
    std::vector<PassedValue> sites;  // most calls first; only those that are known
};

// Returns the names of the argument registers that the function reads before it writes them, in its
// code to the first call, return or jump. What it only passes on to another function does not
// count.
std::vector<std::string> read_arguments(std::span<const AnnotatedInstruction> code);

// Returns each argument that `callee` reads and that is the same plain number in most calls. A
// site's value is a constant, or the recorded result of the instruction that sets the register, if
// nothing can get between it and the call: `joins` has the places that branches lead to. `entries`
// is how often the function was entered from anywhere.
std::vector<PassedArgument> passed_arguments(const AnnotatedFunction& callee, double entries,
                                             std::vector<CallSite> sites,
                                             const std::set<CodeLocation>& joins,
                                             Annotator& annotator);

// Whether a number is no address, nor a part of one: small, or negative and small.
bool is_plain_number(std::uint64_t number, std::size_t width_bytes);

}  // namespace shadowprof
