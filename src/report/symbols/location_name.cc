#include "report/symbols/location_name.h"

#include <fmt/format.h>

#include "base/text/text_format.h"
#include "profile/code/anonymous_module.h"

namespace shadowprof {

std::string shown_module(std::string_view path) {
    if (path == anonymous_module) return "[jit]";
    if (const auto process = process_of_anonymous_module(path))
        return fmt::format("[jit {}]", *process);
    return printable(base_name(path));
}

bool is_module_called(std::string_view path, std::string_view name) {
    return path == name || base_name(path) == name || shown_module(path) == name;
}

std::string module_name(const std::vector<Module>& modules, std::uint32_t index) {
    return index < modules.size() ? shown_module(modules[index].path) : "?";
}

std::string without_arguments(std::string_view function) {
    // The argument list begins at the last parenthesis on the outermost level. Parentheses that
    // belong to the name, as in "operator()(int)" or "(anonymous namespace)::f(int)", come before
    // it.
    int angle = 0, round = 0;
    std::size_t open = std::string_view::npos;
    for (std::size_t i = 0; i < function.size(); ++i) {
        char c = function[i];
        bool in_operator = i >= 8 && function.substr(0, i).ends_with("operator");
        if (c == '<' && !in_operator) ++angle;
        if (c == '>' && angle > 0 && function[i - 1] != '-') --angle;
        if (c == '(' && angle == 0 && round++ == 0 && i > 0 && !in_operator &&
            function[i - 1] != ':')
            open = i;
        if (c == ')' && angle == 0 && round > 0) --round;
    }
    return std::string(function.substr(0, open));
}

std::string location_name(const std::vector<Module>& modules, SymbolSource& symbols,
                          CodeLocation location) {
    const CodeSymbol& symbol = symbols.symbol(location);
    if (symbol.function.empty())
        return fmt::format("{}+{:#x}", module_name(modules, location.module), location.address);
    std::string name = printable(without_arguments(symbol.function));
    std::uint64_t offset = location.address - symbol.function_start.value_or(location.address);
    return offset == 0 ? name : fmt::format("{}+{:#x}", name, offset);
}

std::string function_name(const std::vector<Module>& modules, SymbolSource& symbols,
                          CodeLocation location) {
    const CodeSymbol& symbol = symbols.symbol(location);
    if (!symbol.function.empty()) return printable(without_arguments(symbol.function));
    std::string module = module_name(modules, location.module);
    return symbol.function_start ? fmt::format("{}+{:#x}", module, *symbol.function_start) : module;
}

std::string source_name(const CodeSymbol& symbol) {
    if (symbol.file.empty()) return {};
    return fmt::format("{}:{}", printable(base_name(symbol.file)), symbol.line);
}

}  // namespace shadowprof
