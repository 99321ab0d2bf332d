// What an ELF file offers to others: its dynamic symbol table alone.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "report/symbols/elf/elf_file.h"

namespace shadowprof {

struct ExportedSymbol {
    std::uint64_t address = 0, bytes = 0;
};

// Valid as long as the file.
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

}  // namespace shadowprof
