#include "profile/module_table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

namespace shadowprof {
namespace {

constexpr std::string_view deleted_suffix = " (deleted)";

// Memory that has an inode but no file that anybody could look at: JIT code, shared memory.
bool is_nameless_file(std::string_view name) {
    return name.starts_with("/memfd:") || name.starts_with("/dev/zero") ||
           name.starts_with("/SYSV") || name.starts_with("anon_inode:") ||
           name.starts_with("//anon");
}

// True unless the file is certainly another one than was mapped. Some file systems (overlayfs,
// btrfs) show other device numbers in stat than in maps: then nothing is certain.
bool may_be_mapped_file(const struct stat& status, const Mapping& mapping) {
    const std::uint64_t device = static_cast<std::uint64_t>(major(status.st_dev)) << 32 |
                                 static_cast<std::uint64_t>(minor(status.st_dev));
    return device != mapping.device || status.st_ino == mapping.inode;
}

}  // namespace

Result<UniqueFd> open_mapped_file(const Mapping& mapping, std::string_view root) {
    if (mapping.name.ends_with(deleted_suffix))
        return Error{ErrorCode::not_found, 0, fmt::format("'{}'", mapping.name)};
    const std::string path = fmt::format("{}{}", root, mapping.name);
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) return errno_error(fmt::format("open '{}'", path));
    struct stat status;
    if (::fstat(fd.get(), &status) != 0) return errno_error(fmt::format("stat '{}'", path));
    if (!S_ISREG(status.st_mode))
        return Error{ErrorCode::unsupported, 0, fmt::format("'{}' is not a regular file", path)};
    if (!may_be_mapped_file(status, mapping))
        return Error{ErrorCode::not_found, 0,
                     fmt::format("'{}' is not the file that was mapped", path)};
    return fd;
}

MappedFileOpener ModuleTable::default_opener() {
    return [](const Mapping& mapping) { return open_mapped_file(mapping); };
}

ModuleTable::ModuleTable(MappedFileOpener opener) : opener_(std::move(opener)) {}

CodeLocation ModuleTable::locate(const Mapping* mapping, GuestAddress address) {
    std::lock_guard lock(mutex_);
    if (!mapping) return {pseudo_module(anonymous_module), address.value};
    if (mapping->name == vdso_module) return {pseudo_module(vdso_module), address - mapping->start};
    if (!mapping->is_file() || is_nameless_file(mapping->name))
        return {pseudo_module(anonymous_module), address.value};
    const std::uint32_t module = file_module(*mapping);
    const std::uint64_t offset = mapping->file_offset + (address - mapping->start);
    return {module, entries_[module].layout.address_of(offset).value_or(offset)};
}

std::vector<Module> ModuleTable::modules() const {
    std::lock_guard lock(mutex_);
    std::vector<Module> modules;
    for (const Entry& entry : entries_) modules.push_back(entry.module);
    return modules;
}

std::uint32_t ModuleTable::file_module(const Mapping& mapping) {
    FileKey key{mapping.name, mapping.device, mapping.inode};
    if (auto found = by_file_.find(key); found != by_file_.end()) return found->second;
    Entry entry{{mapping.name, {}, 0}, {}};
    if (auto fd = opener_(mapping)) {
        struct stat status {};
        if (::fstat(fd->get(), &status) == 0)
            entry.module.size_bytes = static_cast<std::uint64_t>(status.st_size);
        if (auto layout = ElfLayout::read(fd->get())) entry.layout = std::move(*layout);
        entry.module.build_id = entry.layout.build_id();
    }
    return by_file_[key] = add(std::move(entry));
}

std::uint32_t ModuleTable::pseudo_module(std::string_view name) {
    FileKey key{name, 0, 0};
    if (auto found = by_file_.find(key); found != by_file_.end()) return found->second;
    return by_file_[key] = add({{std::string(name), {}, 0}, {}});
}

// The index of an equal module, else of a new one.
std::uint32_t ModuleTable::add(Entry entry) {
    auto same = [&](const Entry& e) {
        return e.module.path == entry.module.path && e.module.build_id == entry.module.build_id &&
               e.module.size_bytes == entry.module.size_bytes;
    };
    auto found = std::find_if(entries_.begin(), entries_.end(), same);
    if (found != entries_.end()) return static_cast<std::uint32_t>(found - entries_.begin());
    entries_.push_back(std::move(entry));
    return static_cast<std::uint32_t>(entries_.size() - 1);
}

}  // namespace shadowprof
