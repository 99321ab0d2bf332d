#include "report/symbols/python_symbols.h"

#include <gelf.h>

#include <array>
#include <span>
#include <string_view>

#include "report/symbols/elf/elf_file.h"

namespace shadowprof {
namespace {

struct ExportedSymbol {
    std::uint64_t address = 0, bytes = 0;
};

// The dynamic symbol table alone, as the symbols are part of the interface to extensions.
class ExportedSymbols {
  public:
    explicit ExportedSymbols(const ElfFile& file) : elf_(file.elf()) {
        for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
            GElf_Shdr header;
            if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM) continue;
            symbols_ = elf_getdata(section, nullptr);
            names_ = header.sh_link;
        }
    }

    std::optional<ExportedSymbol> find(std::string_view name) const {
        if (!symbols_) return std::nullopt;
        GElf_Sym symbol;
        for (int i = 1; gelf_getsym(symbols_, i, &symbol) != nullptr; ++i) {
            if (symbol.st_shndx == SHN_UNDEF) continue;
            const char* text = elf_strptr(elf_, names_, symbol.st_name);
            if (text && text == name) return ExportedSymbol{symbol.st_value, symbol.st_size};
        }
        return std::nullopt;
    }

  private:
    Elf* elf_;
    Elf_Data* symbols_ = nullptr;
    std::size_t names_ = 0;
};

}  // namespace

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
