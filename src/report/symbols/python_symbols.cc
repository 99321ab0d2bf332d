#include "report/symbols/python_symbols.h"

#include <array>
#include <span>
#include <string_view>

#include "report/symbols/elf/elf_file.h"
#include "report/symbols/elf/exported_symbols.h"

namespace shadowprof {

std::optional<PythonSymbols> python_symbols(const std::string& path) {
    const auto file = ElfFile::open(path);
    if (!file || !(*file)->section(".PyRuntime")) return std::nullopt;
    const ExportedSymbols exported(**file);
    const auto eval = exported.find("_PyEval_EvalFrameDefault");
    const auto runtime = exported.find("_PyRuntime");
    const auto code_type = exported.find("PyCode_Type");
    const auto version = exported.find("Py_Version");
    if (!eval || !runtime || !code_type || !version) return std::nullopt;
    PythonSymbols symbols{.eval_start = eval->address,
                          .eval_end = eval->address + eval->bytes,
                          .runtime = runtime->address,
                          .code_type = code_type->address};
    const auto to = std::as_writable_bytes(std::span(&symbols.version, 1));
    if ((*file)->read(version->address, to) != to.size()) return std::nullopt;
    return symbols;
}

}  // namespace shadowprof
