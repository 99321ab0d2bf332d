// The file of a profiled module, for code and program headers, which a profile does not hold.
#pragma once

#include <memory>

#include "profile/profile.h"
#include "report/symbols/elf/elf_file.h"

namespace shadowprof {

// Opens the file of the module as it was profiled. Errors name the module, the reason and a remedy:
// a pseudo-module has no file; the file is missing, is not ELF, or is another build.
Result<std::unique_ptr<ElfFile>> open_module_file(const Module& module);

// Returns `path` if it leads to the same file as `kept`, else `kept`. A path is better because
// debug information is found beside it, but not beside a name in /proc.
std::string path_of_same_file(const std::string& path, const std::string& kept);

}  // namespace shadowprof
