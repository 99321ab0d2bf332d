#include "report/text/path_text.h"

#include <fmt/format.h>

#include "base/text/text_format.h"
#include "report/symbols/location_name.h"

namespace shadowprof {
namespace {

std::string step_text(CodeLocation first, CodeLocation last, const std::vector<Module>& modules,
                      SymbolSource& symbols) {
    std::string text = location_name(modules, symbols, first);
    if (last == first) return text;
    const CodeSymbol& symbol = symbols.symbol(first);
    // Offsets are counted as in location_name(): from the function's start, or from address 0 if it
    // has no name.
    std::uint64_t base = symbol.function.empty() ? 0 : symbol.function_start.value_or(0);
    return fmt::format("{}..+{:#x}", text, last.address - base);
}

// Splits the path where it goes from function to function.
std::vector<std::string> steps(const std::vector<CodeLocation>& blocks,
                               const std::vector<Module>& modules, SymbolSource& symbols) {
    std::vector<std::string> texts;
    for (std::size_t first = 0, next = 0; first < blocks.size(); first = next) {
        auto start = symbols.symbol(blocks[first]).function_start;
        for (next = first + 1; next < blocks.size(); ++next)
            if (blocks[next].module != blocks[first].module ||
                symbols.symbol(blocks[next]).function_start != start)
                break;
        texts.push_back(step_text(blocks[first], blocks[next - 1], modules, symbols));
    }
    return texts;
}

// Joins the steps without `left_out` of them in the middle.
std::string join(const std::vector<std::string>& steps, std::size_t left_out) {
    std::size_t head = (steps.size() - left_out + 1) / 2;
    std::string text;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i >= head && i < head + left_out) {
            if (i == head) text += fmt::format(" -> .. {} ..", left_out);
            continue;
        }
        text += (i == 0 ? "" : " -> ") + steps[i];
    }
    return text;
}

}  // namespace

std::string path_text(const std::vector<CodeLocation>& blocks, const std::vector<Module>& modules,
                      SymbolSource& symbols, std::size_t width) {
    auto all = steps(blocks, modules, symbols);
    std::size_t left_out = 0;
    std::string text = join(all, 0);
    while (columns(text) > width && left_out + 2 < all.size()) text = join(all, ++left_out);
    return fit(text, width);
}

}  // namespace shadowprof
