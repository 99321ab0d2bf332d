#include "report/lists/frames.h"

#include "base/text/text_format.h"
#include "report/symbols/location_name.h"

namespace shadowprof {

std::string full_function_name(const std::vector<Module>& modules, SymbolSource& symbols,
                               CodeLocation location) {
    const CodeSymbol& symbol = symbols.symbol(location);
    if (!symbol.function.empty()) return printable(symbol.function);
    return function_name(modules, symbols, location);
}

ExportFrame function_frame(const std::vector<Module>& modules, SymbolSource& symbols,
                           CodeLocation location) {
    const CodeSymbol& symbol = symbols.symbol(location);
    ExportFrame frame{full_function_name(modules, symbols, location), symbol.file, symbol.line,
                      false};
    if (!symbol.inlined.empty()) {
        frame.file = symbol.inlined.back().file;
        frame.line = symbol.inlined.back().line;
    }
    return frame;
}

std::vector<ExportFrame> frames_at(const std::vector<Module>& modules, SymbolSource& symbols,
                                   CodeLocation location) {
    const CodeSymbol& symbol = symbols.symbol(location);
    std::vector<ExportFrame> frames = {function_frame(modules, symbols, location)};
    // Each inlined frame has the place of its call, which is the position in the frame around it.
    for (std::size_t i = symbol.inlined.size(); i-- > 0;) {
        const InlinedFrame* within = i > 0 ? &symbol.inlined[i - 1] : nullptr;
        const std::string_view name = symbol.inlined[i].function;
        frames.push_back({name.empty() ? "(inlined)" : printable(name),
                          within ? within->file : symbol.file, within ? within->line : symbol.line,
                          true});
    }
    return frames;
}

const StackFrames::Frames& StackFrames::at(CodeLocation location) {
    const auto [it, added] = places_.try_emplace(location);
    if (added) it->second = frames_at(modules_, symbols_, location);
    return it->second;
}

const StackFrames::Frames& StackFrames::function_at(CodeLocation location) {
    const auto [it, added] = functions_.try_emplace(location);
    if (added) it->second = {function_frame(modules_, symbols_, location)};
    return it->second;
}

std::vector<const ExportFrame*> StackFrames::of(const Stack& stack) {
    std::vector<const ExportFrame*> frames;
    for (std::size_t i = 0; i < stack.frames.size(); ++i) {
        const bool last = i + 1 == stack.frames.size();
        for (const ExportFrame& frame : last ? function_at(stack.frames[i]) : at(stack.frames[i]))
            frames.push_back(&frame);
    }
    return frames;
}

Error no_stacks() {
    return {ErrorCode::not_found, 0,
            "the profile has no call stacks; profile with 'stack' among --profiles"};
}

}  // namespace shadowprof
