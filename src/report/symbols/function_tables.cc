#include "report/symbols/function_tables.h"

#include <system_error>
#include <utility>

#include "base/quiet_thread.h"

namespace shadowprof {

FunctionTables::~FunctionTables() {
    for (const auto& [version, prepared] : prepared_)
        if (prepared->thread.joinable()) prepared->thread.join();
}

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

void FunctionTables::prepare(std::unique_ptr<ElfFile> file) {
    const FileVersion version = file->version();
    if (version.path.empty()) return;
    const std::lock_guard lock(mutex_);
    auto& prepared = prepared_[version];
    if (prepared) return;
    prepared = std::make_unique<Prepared>();
    prepared->file = std::move(file);
    try {
        prepared->thread = start_quiet_thread(
            [&loaded = *prepared->file] { static_cast<void>(loaded.debug_information()); });
    } catch (const std::system_error&) {  // too many threads: it is read when it is asked for
    }
}

Result<std::unique_ptr<ElfFile>> FunctionTables::open(const std::string& path) {
    TRY_ASSIGN(const auto version, ElfFile::version_of(path));
    const auto prepared = take_prepared(version);
    if (!prepared) return ElfFile::open(path, search_);
    if (prepared->thread.joinable()) prepared->thread.join();
    return std::move(prepared->file);
}

std::unique_ptr<FunctionTables::Prepared> FunctionTables::take_prepared(
    const FileVersion& version) {
    const std::lock_guard lock(mutex_);
    const auto found = prepared_.find(version);
    if (found == prepared_.end()) return nullptr;
    auto prepared = std::move(found->second);
    prepared_.erase(found);
    return prepared;
}

}  // namespace shadowprof
