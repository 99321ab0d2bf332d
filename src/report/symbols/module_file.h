// The file of a profiled module, for what a profile itself does not hold: code and program headers.
#pragma once

#include <memory>

#include "profile/profile.h"
#include "report/symbols/elf/elf_file.h"

namespace shadowprof {

// Opens the file that the module was when it was profiled. Errors say which module, why, and what
// to do: a pseudo-module has no file, the file is not there, is not ELF, or is another build.
Result<std::unique_ptr<ElfFile>> open_module_file(const Module& module);

// `path` if it leads to the file that `kept` leads to, else `kept`. Debug information is found
// beside a path, which a name in /proc does not have.
std::string path_of_same_file(const std::string& path, const std::string& kept);

}  // namespace shadowprof
