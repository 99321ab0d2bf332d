// Names of locations, from the files of the profiled program.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/files/fd.h"
#include "decoder/disassembly.h"
#include "report/symbols/module_symbols.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

struct SymbolizerOptions {
    // A prefix of module paths: "/proc/PID/root" for a target in another mount namespace.
    std::string root;
    // ModuleTable::take_files(), where they are known. They are used if a path leads to another
    // file by now. A module of size 0 without a file was never opened, and its path is not tried.
    // Must outlive the symbolizer.
    std::span<const UniqueFd> files;
    // ModuleTable::open_perf_maps(): the names of code in "[anon]", which are not needed where
    // there is a jitdump. Must outlive the symbolizer.
    std::span<const UniqueFd> perf_maps = {};
    // Shared functions of modules; null: none. Must outlive the symbolizer.
    FunctionTables* tables = nullptr;
    // Names of functions of scripts.
    std::span<const ScriptFunction> script_functions = {};
    // Whether symbols have source lines and inlined functions, for which debug information is read.
    bool has_lines = true;
};

// Opens modules when they are first asked for and caches every answer. Not thread-safe. Needs
// neither the process nor the network. "[vdso]" is that of the running kernel.
class Symbolizer final : public SymbolSource {
  public:
    explicit Symbolizer(std::vector<Module> modules, SymbolizerOptions options = {});

    const CodeSymbol& symbol(CodeLocation location) override;
    std::string instruction_text(CodeLocation location) override;
    std::vector<std::string> notes() const override;

  private:
    struct State {
        bool tried = false;
        std::unique_ptr<ModuleSymbols> symbols;
    };
    // Returns null if the module is unknown or unusable.
    ModuleSymbols* module(std::uint32_t index);
    std::unique_ptr<ModuleSymbols> open_module(std::uint32_t index);
    Result<std::unique_ptr<ModuleSymbols>> open_file_module(std::uint32_t index);
    Result<std::string> file_of(std::uint32_t index) const;
    Result<std::unique_ptr<ModuleSymbols>> open_vdso();
    std::unique_ptr<ModuleSymbols> name_kernel_calls();
    std::unique_ptr<ModuleSymbols> open_code_without_file(std::uint32_t index);
    Result<std::unique_ptr<ModuleSymbols>> open_perf_map(std::uint32_t index);
    void name_scripts();
    std::string gap_words(const std::string& path, const ModuleSymbols& symbols) const;

    std::vector<Module> modules_;
    SymbolizerOptions options_;
    StringPool strings_;
    std::vector<State> states_;  // by module
    std::unordered_map<CodeLocation, CodeSymbol, CodeLocationHash> cache_;
    std::vector<std::string> notes_;
    Disassembler disassembler_;
};

}  // namespace shadowprof
