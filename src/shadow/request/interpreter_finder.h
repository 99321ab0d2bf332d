// The interface for finding interpreters whose functions can be named. Implemented where symbols
// are read.
#pragma once

#include <optional>

#include "base/memory_map.h"
#include "emu/watch/python_layout.h"
#include "profile/code/module_table.h"

namespace shadowprof {

// Whether the file may have an interpreter, by its name.
inline bool may_be_python(const Mapping& mapping) {
    const auto base = mapping.name.rfind('/') + 1;
    return mapping.is_file() && mapping.name.find("python", base) != std::string::npos;
}

// Thread-safe.
class InterpreterFinder {
  public:
    virtual ~InterpreterFinder() = default;
    // A CPython in the files that `map` has, of a version that python_layout() knows. Reads each
    // file once.
    virtual std::optional<PythonProgram> find_python(const MemoryMap& map,
                                                     ModuleTable& modules) = 0;
};

}  // namespace shadowprof
