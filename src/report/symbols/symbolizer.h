// Names for locations, from the files of the profiled program.
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
    // Goes in front of module paths: "/proc/PID/root" for a target in another mount namespace.
    std::string root;
    // The perf map of the first process's just-in-time compiler, for code in "[anon]"; empty for
    // none. Those of other processes are where perf_map_path() says.
    std::string perf_map;
    // The files that were mapped, by module, where they are known: they count where a path leads to
    // another file by now. A module of size 0 without a file was never had, and what has its path
    // is not asked. Must outlive the symbolizer.
    std::span<const UniqueFd> files;
    // Null: nobody shares the functions of its modules. Must outlive the symbolizer.
    FunctionTables* tables = nullptr;
};

// Where a compiler in process `pid` writes its map.
std::string perf_map_path(std::int64_t pid);

// Opens modules when they are first asked about and remembers every answer. Not for use by several
// threads at once. Needs neither the process nor the network. For "[vdso]" it is the running
// kernel's that counts.
class Symbolizer final : public SymbolSource {
  public:
    explicit Symbolizer(std::vector<Module> modules, SymbolizerOptions options = {});

    const CodeSymbol& symbol(CodeLocation location) override;
    std::string instruction_text(CodeLocation location) override;
    std::vector<std::string> notes() const override { return notes_; }

  private:
    struct State {
        bool tried = false;
        std::unique_ptr<ModuleSymbols> symbols;
    };
    // Null if the module is unknown or unusable.
    ModuleSymbols* module(std::uint32_t index);
    std::unique_ptr<ModuleSymbols> open_module(std::uint32_t index);
    Result<std::unique_ptr<ModuleSymbols>> open_file_module(std::uint32_t index);
    Result<std::string> file_of(std::uint32_t index) const;
    Result<std::unique_ptr<ModuleSymbols>> open_pseudo_module(const Module& module);

    std::vector<Module> modules_;
    SymbolizerOptions options_;
    StringPool strings_;
    std::vector<State> states_;  // one a module
    std::unordered_map<CodeLocation, CodeSymbol, CodeLocationHash> cache_;
    std::vector<std::string> notes_;
    Disassembler disassembler_;
};

}  // namespace shadowprof
