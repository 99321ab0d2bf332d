// Who reads the symbols of what is profiled, for the stages that know none themselves.
#pragma once

namespace shadowprof {

class FunctionFinder;
class ProbePlaces;

// What these point to must outlive the profiling. Null: nobody.
struct SymbolAccess {
    ProbePlaces* places = nullptr;        // decides the place tests of probes
    FunctionFinder* functions = nullptr;  // tells stacks in which function code executes
};

}  // namespace shadowprof
