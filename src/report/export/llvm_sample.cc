#include <algorithm>

#include "base/text/text_format.h"
#include "report/export/execution_costs.h"
#include "report/export/sample_bodies.h"
#include "report/export/writers.h"
#include "report/symbols/module_file.h"

namespace shadowprof {
namespace {

std::string line_text(LineInFunction line) {
    if (line.discriminator == 0) return fmt::format("{}", line.offset);
    return fmt::format("{}.{}", line.offset, line.discriminator);
}

// Appends the lines of a body, then what was inlined into it, indented by one blank more.
void append_body(const SampleBody& body, std::size_t depth, std::string& text) {
    const std::string indent(depth, ' ');
    for (const auto& [at, line] : body.lines) {
        text += fmt::format("{}{}: {}", indent, line_text(at), line.executions);
        for (const auto& [callee, count] : line.calls) text += fmt::format(" {}:{}", callee, count);
        text += '\n';
    }
    for (const auto& [at, copies] : body.inlined) {
        for (const auto& [name, copy] : copies) {
            text += fmt::format("{}{}: {}:{}\n", indent, line_text(at), name, copy.instructions);
            append_body(copy, depth + 1, text);
        }
    }
}

Error no_lines(const Module& module) {
    return {ErrorCode::not_found, 0,
            fmt::format("no function of '{}' that was executed has a declaration line in debug "
                        "information; compile it with clang -gmlt -fdebug-info-for-profiling and "
                        "profile again",
                        printable(module.path))};
}

}  // namespace

Result<void> write_llvm_sample(const ExportInput& input, ByteSink& sink) {
    if (input.profile.edges.empty()) return no_edges();
    const Module& module = input.profile.modules.at(input.module.value());
    TRY_ASSIGN(const auto file, open_module_file(module));
    StringPool strings;
    TRY_ASSIGN(const auto symbols, ModuleSymbols::open(module.path, module.build_id, strings));
    const SampleBodies bodies = sample_bodies(input, *file, *symbols);
    if (bodies.empty()) return no_lines(module);
    std::vector<const SampleBodies::value_type*> hottest_first;
    for (const auto& entry : bodies) hottest_first.push_back(&entry);
    std::stable_sort(hottest_first.begin(), hottest_first.end(), [](const auto* a, const auto* b) {
        return a->second.instructions > b->second.instructions;
    });
    for (const auto* entry : hottest_first) {
        const auto& [name, body] = *entry;
        std::string text = fmt::format("{}:{}:{}\n", name, body.instructions, body.entries);
        append_body(body, 1, text);
        TRY(sink.write(text));
    }
    return {};
}

}  // namespace shadowprof
