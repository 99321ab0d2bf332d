// Symbols for code that cannot read them itself.
#pragma once

namespace shadowprof {

class FunctionFinder;
class InterpreterFinder;
class ProbePlaces;

// The objects must outlive the profiling. Each may be null.
struct SymbolAccess {
    ProbePlaces* places = nullptr;              // decides the place tests of probes
    FunctionFinder* functions = nullptr;        // finds the function of code, for stacks
    InterpreterFinder* interpreters = nullptr;  // finds those whose functions are named in stacks
};

}  // namespace shadowprof
