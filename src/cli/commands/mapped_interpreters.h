// Finds interpreters in the modules that a process has mapped.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "report/symbols/python_symbols.h"
#include "shadow/request/interpreter_finder.h"

namespace shadowprof {

class MappedInterpreters final : public InterpreterFinder {
  public:
    std::optional<PythonProgram> find_python(const MemoryMap& map, ModuleTable& modules) override;

  private:
    std::optional<PythonSymbols> symbols_of(std::uint32_t module, ModuleTable& modules);

    std::mutex mutex_;
    std::map<std::uint32_t, std::optional<PythonSymbols>> by_module_;
};

}  // namespace shadowprof
