#include "report/function_tables.h"

namespace shadowprof {

std::shared_ptr<const FunctionTable> FunctionTables::of(const ElfFile& file) {
    const std::lock_guard lock(mutex_);
    auto& table = tables_[file.version()];
    if (table == nullptr) table = std::make_shared<const FunctionTable>(read_functions(file));
    return table;
}

}  // namespace shadowprof
