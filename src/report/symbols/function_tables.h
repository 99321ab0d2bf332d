// Function tables that several readers of the same files share.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "report/symbols/elf/function_table.h"

namespace shadowprof {

// Thread-safe. Reading the functions of a large file takes tens of milliseconds.
class FunctionTables {
  public:
    // Returns the result of read_functions() for `file`. All who open the same version of the file
    // by the same path share the table. The path matters because debug information is looked for
    // beside it. No thread waits for another one that reads, so two that ask for a new file at once
    // both read it.
    std::shared_ptr<const FunctionTable> of(const ElfFile& file);

  private:
    std::shared_ptr<const FunctionTable> find(const FileVersion& version);

    std::mutex mutex_;
    std::map<FileVersion, std::shared_ptr<const FunctionTable>> tables_;
};

}  // namespace shadowprof
