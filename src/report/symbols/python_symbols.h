// The symbols by which the state of a CPython is found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shadowprof {

// ELF virtual addresses.
struct PythonSymbols {
    std::uint64_t eval_start = 0, eval_end = 0;  // _PyEval_EvalFrameDefault
    std::uint64_t runtime = 0;                   // _PyRuntime
    std::uint64_t code_type = 0;                 // PyCode_Type
    std::uint64_t version = 0;                   // the value of Py_Version
};

// Nothing if the file has not all of them. CPython exports them since 3.11.
std::optional<PythonSymbols> python_symbols(const std::string& path);

}  // namespace shadowprof
