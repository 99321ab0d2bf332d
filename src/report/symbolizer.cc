#include "report/symbolizer.h"

#include "report/perf_map.h"

namespace shadowprof {

std::string perf_map_path(std::int64_t pid) {
    return fmt::format("/tmp/perf-{}.map", pid);
}

Symbolizer::Symbolizer(std::vector<Module> modules, SymbolizerOptions options)
    : modules_(std::move(modules)), options_(std::move(options)), states_(modules_.size()) {}

const CodeSymbol& Symbolizer::symbol(CodeLocation location) {
    auto [it, added] = cache_.try_emplace(location);
    if (!added) return it->second;
    if (ModuleSymbols* symbols = module(location.module))
        it->second = symbols->describe(location.address);
    return it->second;
}

std::string Symbolizer::instruction_text(CodeLocation location) {
    ModuleSymbols* symbols = module(location.module);
    if (symbols == nullptr) return {};
    std::array<std::byte, 15> code;
    std::size_t length = symbols->read_instruction(location.address, code);
    return disassembler_.text(std::span(code).first(length), location.address);
}

ModuleSymbols* Symbolizer::module(std::uint32_t index) {
    if (index >= states_.size()) return nullptr;
    State& state = states_[index];
    if (!state.tried) {
        state.tried = true;
        state.symbols = open_module(modules_[index]);
    }
    return state.symbols.get();
}

std::unique_ptr<ModuleSymbols> Symbolizer::open_module(const Module& module) {
    if (module.path.starts_with('[')) {
        if (module.path != "[anon]" || options_.perf_map.empty()) return nullptr;
        auto functions = read_perf_map(options_.perf_map);
        if (!functions) return nullptr;  // no just-in-time compiler, or one that writes no map
        return std::make_unique<ModuleSymbols>(std::move(*functions), strings_);
    }
    auto opened = ModuleSymbols::open(options_.root + module.path, module.build_id, strings_);
    if (!opened) {
        notes_.push_back(fmt::format("{}: no symbols: {}", module.path, opened.error().message));
        return nullptr;
    }
    if (!(*opened)->has_function_names())
        notes_.push_back(
            fmt::format("{}: stripped: functions are known by address only", module.path));
    return std::move(*opened);
}

}  // namespace shadowprof
