// Tables of functions that several readers of the same files share.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "report/symbols/elf/function_table.h"

namespace shadowprof {

// Thread-safe. The functions of a file with many take tens of milliseconds to read.
class FunctionTables {
  public:
    // What read_functions() says of `file`. The table is shared by all who open the same version of
    // the file by the same path; the path counts, as debug information is looked for beside it.
    // Nobody waits for a thread that reads: two that ask for a new file at once both read it.
    std::shared_ptr<const FunctionTable> of(const ElfFile& file);

  private:
    std::shared_ptr<const FunctionTable> find(const FileVersion& version);

    std::mutex mutex_;
    std::map<FileVersion, std::shared_ptr<const FunctionTable>> tables_;
};

}  // namespace shadowprof
