// The procedure linkage table: which entry calls which imported function.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "report/symbols/elf/elf_file.h"
#include "report/symbols/elf/function_range.h"

namespace shadowprof {

inline constexpr std::string_view plt_suffix = "@plt";
inline constexpr std::array plt_sections{".plt", ".plt.sec", ".plt.got"};

// Returns the entries of .plt, .plt.sec and .plt.got, named `function@plt` by the relocation of the
// slot that each jumps through. If the file itself chooses among variants of a function
// (IRELATIVE), the name is that of the resolver in `named`, which must be sorted by start, or else
// "*ABS*+" and the resolver's address. Entries that jump through no relocated slot are left out.
// Names are kept in `names`.
std::vector<FunctionRange> plt_functions(const ElfFile& file, std::span<const FunctionRange> named,
                                         NameStore& names);

}  // namespace shadowprof
