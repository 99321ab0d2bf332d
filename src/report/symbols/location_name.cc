#include "report/symbols/location_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text/text_format.h"
#include "profile/code/anonymous_module.h"
#include "report/symbols/elf/plt.h"

namespace shadowprof {
namespace {

// Operators of C++ with brackets in their names, longer ones before those that they begin with.
constexpr std::array<std::string_view, 12> bracket_operators = {
    "()", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"};

// The length of the operator's symbol if it begins at `at`, and has brackets; else 0.
std::size_t operator_symbol(std::string_view function, std::size_t at) {
    constexpr std::string_view keyword = "operator";
    if (!function.substr(0, at).ends_with(keyword)) return 0;
    const auto is_of_word = [](char c) {
        return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
    };
    if (at > keyword.size() && is_of_word(function[at - keyword.size() - 1])) return 0;
    for (const auto symbol : bracket_operators)
        if (function.substr(at).starts_with(symbol)) return symbol.size();
    return 0;
}

// Whether `rest` of a demangled name may stand behind the list of its arguments: qualifiers, which
// copy of the function it is (" [clone .cold]"), or which version ("[Optimized]").
bool may_follow_arguments(std::string_view rest) {
    constexpr std::array<std::string_view, 6> qualifiers = {" const", " volatile", " &&",
                                                            " &",     " noexcept", plt_suffix};
    while (!rest.empty()) {
        const auto* const qualifier = std::ranges::find_if(
            qualifiers, [&](std::string_view each) { return rest.starts_with(each); });
        const auto bracket = rest.find(']');
        if (qualifier != qualifiers.end())
            rest.remove_prefix(qualifier->size());
        else if ((rest.starts_with('[') || rest.starts_with(" [")) && bracket != rest.npos)
            rest.remove_prefix(bracket + 1);
        else
            return false;
    }
    return true;
}

// No name ends with these, so that parentheses behind them belong to a name, as in
// "(anonymous namespace)::f" and Go's "fmt.(*fmt).fmtInteger".
constexpr std::string_view no_end_of_name = " :.";

}  // namespace

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
    int angle = 0, round = 0;
    std::size_t open = 0;
    for (std::size_t i = 0; i < function.size(); ++i) {
        if (const std::size_t symbol = operator_symbol(function, i)) {
            i += symbol - 1;
            continue;
        }
        const char c = function[i];
        if (c == '<') ++angle;
        if (c == '>' && angle > 0 && function[i - 1] != '-') --angle;
        if (angle > 0) continue;
        if (c == '(' && round++ == 0) open = i;
        if (c != ')' || round == 0 || --round > 0 || !may_follow_arguments(function.substr(i + 1)))
            continue;
        if (open == 0 || no_end_of_name.find(function[open - 1]) != no_end_of_name.npos) break;
        const bool is_plt = function.ends_with(plt_suffix);
        return std::string(function.substr(0, open)) += is_plt ? plt_suffix : "";
    }
    return std::string(function);
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
