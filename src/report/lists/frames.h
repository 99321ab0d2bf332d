// Call stacks as lists of functions, inlined ones included.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// One function of a call stack. Views live as long as the symbols they came from.
struct ExportFrame {
    std::string function;   // with its arguments; never empty, no control characters
    std::string_view file;  // file of the source position in that function; empty if unknown
    std::uint32_t line = 0;
    bool inlined = false;
};

// Returns the name of the function around `location`, or its module and first address if it has no
// name.
std::string full_function_name(const std::vector<Module>& modules, SymbolSource& symbols,
                               CodeLocation location);

// Returns the functions at `location`, outermost first: the one that contains the code, then those
// that were inlined there.
std::vector<ExportFrame> frames_at(const std::vector<Module>& modules, SymbolSource& symbols,
                                   CodeLocation location);

// Returns the function alone. In a stack's last frame only the function is known, not the place in
// it.
ExportFrame function_frame(const std::vector<Module>& modules, SymbolSource& symbols,
                           CodeLocation location);

// Converts many stacks, which name the same places again and again. The arguments must outlive it.
class StackFrames {
  public:
    StackFrames(const std::vector<Module>& modules, SymbolSource& symbols)
        : modules_(modules), symbols_(symbols) {}

    // Outermost first; the frames live as long as this.
    std::vector<const ExportFrame*> of(const Stack& stack);

  private:
    using Frames = std::vector<ExportFrame>;
    const Frames& at(CodeLocation location);
    const Frames& function_at(CodeLocation location);

    const std::vector<Module>& modules_;
    SymbolSource& symbols_;
    std::unordered_map<CodeLocation, Frames, CodeLocationHash> places_, functions_;
};

// The error of formats that need stacks.
Error no_stacks();

}  // namespace shadowprof
