#include "report/symbols/function_tables.h"

namespace shadowprof {

std::shared_ptr<const FunctionTable> FunctionTables::of(const ElfFile& file) {
    if (auto known = find(file.version())) return known;
    auto table = std::make_shared<const FunctionTable>(read_functions(file));
    const std::lock_guard lock(mutex_);
    return tables_.try_emplace(file.version(), std::move(table)).first->second;
}

std::shared_ptr<const FunctionTable> FunctionTables::find(const FileVersion& version) {
    const std::lock_guard lock(mutex_);
    const auto it = tables_.find(version);
    return it != tables_.end() ? it->second : nullptr;
}

}  // namespace shadowprof
