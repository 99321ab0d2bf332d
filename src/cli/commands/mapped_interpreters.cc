#include "cli/commands/mapped_interpreters.h"

namespace shadowprof {

std::optional<PythonProgram> MappedInterpreters::find_python(const MemoryMap& map,
                                                             ModuleTable& modules) {
    const std::lock_guard lock(mutex_);
    for (const Mapping& mapping : map.mappings()) {
        if (!mapping.executable || !may_be_python(mapping)) continue;
        const CodeLocation first = modules.locate(&mapping, mapping.start);
        const auto symbols = symbols_of(first.module, modules);
        if (!symbols || !python_layout(symbols->version)) continue;
        const auto mapped = [&](std::uint64_t address) {
            return GuestAddress{mapping.start.value + (address - first.address)};
        };
        return PythonProgram{.eval_start = mapped(symbols->eval_start),
                             .eval_end = mapped(symbols->eval_end),
                             .runtime = mapped(symbols->runtime),
                             .code_type = mapped(symbols->code_type),
                             .version = symbols->version};
    }
    return std::nullopt;
}

std::optional<PythonSymbols> MappedInterpreters::symbols_of(std::uint32_t module,
                                                            ModuleTable& modules) {
    const auto [at, is_new] = by_module_.try_emplace(module);
    if (is_new) at->second = python_symbols(modules.path_to(module));
    return at->second;
}

}  // namespace shadowprof
