// Symbols for stages that cannot read them.
#pragma once

namespace shadowprof {

class FunctionFinder;
class ProbePlaces;

// What these point to must outlive the profiling. Null: nobody.
struct SymbolAccess {
    ProbePlaces* places = nullptr;        // decides the place tests of probes
    FunctionFinder* functions = nullptr;  // finds the function of code, for stacks
};

}  // namespace shadowprof
