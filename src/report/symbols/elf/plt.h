// The procedure linkage table: which entry calls which imported function.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "report/symbols/elf/elf_file.h"
#include "report/symbols/elf/function_range.h"

namespace shadowprof {

inline constexpr std::string_view plt_suffix = "@plt";

// The entries of .plt, .plt.sec and .plt.got, named `function@plt` by the relocation of the slot
// that each jumps through. Where the file itself chooses among variants of a function (IRELATIVE),
// that is the name among `named`, which are sorted by start, of what chooses, or "*ABS*+" and its
// address. Entries that jump through no relocated slot are left out. Their names are kept in
// `names`.
std::vector<FunctionRange> plt_functions(const ElfFile& file, std::span<const FunctionRange> named,
                                         NameStore& names);

}  // namespace shadowprof
