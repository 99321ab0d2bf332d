// Tables of functions that several readers of the same files share.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "report/function_table.h"

namespace shadowprof {

// Thread-safe. The functions of a file with many take tens of milliseconds to read.
class FunctionTables {
  public:
    // What read_functions() says of `file`. Read once, until the file itself changes or is opened
    // by another path: debug information is looked for beside it. Nobody waits for another thread
    // that reads: two that ask for a new file at once both read it.
    std::shared_ptr<const FunctionTable> of(const ElfFile& file);

  private:
    std::shared_ptr<const FunctionTable> find(const FileVersion& version);

    std::mutex mutex_;
    std::map<FileVersion, std::shared_ptr<const FunctionTable>> tables_;
};

}  // namespace shadowprof
