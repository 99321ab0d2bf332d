#include <algorithm>
#include <map>

#include "report/export/writers.h"
#include "report/lists/frames.h"

namespace shadowprof {
namespace {

// A semicolon separates frames. Like other tools that fold stacks, replaces it by a colon.
std::string folded_name(std::string name) {
    std::replace(name.begin(), name.end(), ';', ':');
    return name;
}

std::string folded_line(StackFrames& frames, const Stack& stack) {
    std::string line;
    for (const ExportFrame* frame : frames.of(stack)) {
        if (!line.empty()) line += ';';
        line += folded_name(frame->function);
    }
    return line;
}

}  // namespace

Result<void> write_folded(const ExportInput& input, ByteSink& sink) {
    if (input.profile.stacks.empty()) return no_stacks();
    // Stacks that differ only in call sites become one.
    StackFrames frames(input.profile.modules, input.symbols);
    std::map<std::string, std::uint64_t> lines;
    for (const Stack& stack : input.profile.stacks)
        if (const auto weight = amount(stack, input.weight); weight > 0 && !stack.frames.empty())
            lines[folded_line(frames, stack)] += weight;
    for (const auto& [line, weight] : lines) TRY(sink.write(fmt::format("{} {}\n", line, weight)));
    return {};
}

}  // namespace shadowprof
