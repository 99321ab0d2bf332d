#include "shadow/exact/shared_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>

namespace shadowprof {
namespace {

namespace fs = std::filesystem;

// Opens a regular file. Devices and pipes are left out: they may act on being opened, and are not
// the same when they are opened anew.
UniqueFd open_file(const std::string& path, const Mapping& mapping) {
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
    UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY));
    if (!fd && !mapping.writable) fd.reset(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    return fd;
}

UniqueFd open_if_mapped(const std::string& path, const Mapping& mapping) {
    auto fd = open_file(path, mapping);
    struct stat info = {};
    const auto device =
        makedev(static_cast<unsigned>(mapping.device >> 32), static_cast<unsigned>(mapping.device));
    if (fd &&
        (fstat(fd.get(), &info) != 0 || info.st_ino != mapping.inode || info.st_dev != device))
        fd.reset();
    return fd;
}

}  // namespace

UniqueFd open_mapped_file(pid_t pid, const Mapping& mapping) {
    const auto process = fmt::format("/proc/{}", pid);
    // Needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
    auto fd = open_file(
        fmt::format("{}/map_files/{:x}-{:x}", process, mapping.start.value, mapping.end.value),
        mapping);
    std::error_code error;
    for (auto it = fs::directory_iterator(process + "/fd", error);
         !fd && !error && it != fs::directory_iterator(); it.increment(error))
        fd = open_if_mapped(it->path(), mapping);
    if (!fd && mapping.name.starts_with('/'))
        fd = open_if_mapped(process + "/root" + mapping.name, mapping);
    return fd;
}

Result<SharedFiles::Missing> SharedFiles::give(pid_t pid, const MemoryMap& map,
                                               WorkerProcess& worker) {
    Missing missing;
    for (const auto& mapping : map.mappings()) {
        const std::tuple file(mapping.device, mapping.inode, mapping.writable);
        if (!mapping.shared || given_.contains(file)) continue;
        const auto fd = open_mapped_file(pid, mapping);
        if (fd) {
            TRY(worker.share_file({mapping.device, mapping.inode}, fd.get()));
            given_.insert(file);
        } else if (!mapping.writable) {
            missing.others.push_back({mapping.start, mapping.end});
        } else if (!missing.writable) {
            missing.writable = mapping.name;
        }
    }
    return missing;
}

}  // namespace shadowprof
