// Tables of functions that several readers of the same files share, and files whose debug
// information was read beforehand.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "report/symbols/elf/function_table.h"

namespace shadowprof {

// Thread-safe. Reading the functions of a large file takes tens of milliseconds.
class FunctionTables {
  public:
    // `search`: where open() looks for debug information. Servers may take minutes.
    explicit FunctionTables(DebugSearch search = DebugSearch::this_host) : search_(search) {}
    FunctionTables(const FunctionTables&) = delete;
    FunctionTables& operator=(const FunctionTables&) = delete;
    ~FunctionTables();

    // Returns the result of read_functions() for `file`. All who open the same version of the file
    // by the same path share the table. The path matters because debug information is looked for
    // beside it. No thread waits for another one that reads, so two that ask for a new file at once
    // both read it.
    std::shared_ptr<const FunctionTable> of(const ElfFile& file);

    // Reads the debug information of a file in a thread of its own, for open(). Where it is
    // compressed, as that of Debian's C library, this takes more than a hundred milliseconds.
    void prepare(std::unique_ptr<ElfFile> file);
    // Opens a file, or returns the one that was prepared, which may take until its thread has
    // ended. The next one who asks opens it anew. Errors: those of ElfFile::open().
    Result<std::unique_ptr<ElfFile>> open(const std::string& path);

  private:
    struct Prepared {
        std::unique_ptr<ElfFile> file;  // the thread's, until it has ended
        std::thread thread;
    };

    std::shared_ptr<const FunctionTable> find(const FileVersion& version);
    std::unique_ptr<Prepared> take_prepared(const FileVersion& version);

    const DebugSearch search_;
    std::mutex mutex_;
    std::map<FileVersion, std::shared_ptr<const FunctionTable>> tables_;
    std::map<FileVersion, std::unique_ptr<Prepared>> prepared_;
};

}  // namespace shadowprof
