#include "report/lists/methods.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "report/lists/function_errors.h"

namespace shadowprof {
namespace {

class MethodCounts {
  public:
    explicit MethodCounts(SymbolSource& symbols) : symbols_(symbols) {}

    // Returns the start of the function that `location` is in.
    std::optional<CodeLocation> entry_of(CodeLocation location) {
        auto start = symbols_.symbol(location).function_start;
        if (!start) return std::nullopt;
        return CodeLocation{location.module, *start};
    }
    Method& at(CodeLocation entry) {
        Method& method = methods_[entry];
        method.entry = entry;
        return method;
    }
    void add_entry(const FunctionEntry& entry) {
        at(entry_of(entry.at).value_or(entry.at)).entries += entry.count;
    }
    void add_edge(const Edge& edge) {
        bool branch = edge.kind == EdgeKind::taken || edge.kind == EdgeKind::jump ||
                      edge.kind == EdgeKind::indirect;
        bool backward = edge.to.module == edge.from.module && edge.to.address <= edge.from.address;
        if (!branch || !backward) return;
        auto from = entry_of(edge.from);
        if (from && from == entry_of(edge.to)) at(*from).back_edges += edge.count;
    }
    void add_stack(const Stack& stack) {
        auto entry = stack.frames.empty() ? std::nullopt : entry_of(stack.frames.back());
        if (!entry) return;
        auto& instructions = at(*entry).instructions;
        instructions = instructions.value_or(0) + stack.instructions;
    }
    void add_time(const PlaceTime& time) {
        const auto entry = entry_of(time.at);
        if (!entry) return;
        auto& time_ns = at(*entry).time_ns;
        time_ns = time_ns.value_or(0) + time.time_ns;
    }
    std::vector<Method> take() {
        std::vector<Method> list;
        for (auto& [entry, method] : methods_) list.push_back(method);
        return list;
    }

  private:
    SymbolSource& symbols_;
    std::map<CodeLocation, Method> methods_;
};

// A call to another place in the same function only reads the program counter.
bool enters_function(const Edge& edge, SymbolSource& symbols) {
    const CodeLocation from = symbols.function_start(edge.from);
    const CodeLocation to = symbols.function_start(edge.to);
    if (edge.kind == EdgeKind::call) return edge.to == to || from != to;
    return symbols.symbol(edge.to).function_start == edge.to.address && from != to;
}

}  // namespace

std::vector<FunctionEntry> function_entries(const Profile& profile, SymbolSource& symbols) {
    std::vector<FunctionEntry> entries;
    for (const Edge& edge : profile.edges)
        if (enters_function(edge, symbols)) entries.push_back({edge.to, edge.count, edge.error});
    if (profile.edges.empty())
        for (const CallPair& call : profile.calls)
            entries.push_back({call.callee, call.count, call.error});
    return entries;
}

std::vector<Method> derive_methods(const Profile& profile, SymbolSource& symbols) {
    MethodCounts counts(symbols);
    for (const FunctionEntry& entry : function_entries(profile, symbols)) counts.add_entry(entry);
    for (const Edge& edge : profile.edges) counts.add_edge(edge);
    for (const Stack& stack : profile.stacks) counts.add_stack(stack);
    for (const PlaceTime& time : profile.times) counts.add_time(time);
    auto methods = counts.take();
    const auto errors = function_errors(profile, symbols);
    const auto error_of = [](const FunctionErrors::ByStart& of, const Method& method) {
        const auto error = of.find(method.entry);
        return error == of.end() ? std::nullopt : std::optional(error->second);
    };
    const bool timed = has_times(profile);
    for (Method& method : methods) {
        method.error = error_of(errors.instructions, method);
        method.time_error_ns = error_of(errors.time_ns, method);
        if (!profile.stacks.empty()) method.instructions = method.instructions.value_or(0);
        method.time_ns = timed ? std::optional(method.time_ns.value_or(0)) : std::nullopt;
    }
    std::stable_sort(methods.begin(), methods.end(), [](const Method& a, const Method& b) {
        return std::tie(a.instructions, a.entries, a.back_edges) >
               std::tie(b.instructions, b.entries, b.back_edges);
    });
    return methods;
}

}  // namespace shadowprof
