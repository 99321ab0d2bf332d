#include "profile/code/mapped_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <memory>

namespace shadowprof {
namespace {

constexpr std::string_view deleted_suffix = " (deleted)";

// Opening a device may have side effects, so the type of the file is checked first.
Result<UniqueFd> open_regular(const std::string& path) {
    const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!place) return errno_error(fmt::format("open '{}'", path));
    struct stat status;
    if (::fstat(place.get(), &status) != 0) return errno_error(fmt::format("stat '{}'", path));
    if (!S_ISREG(status.st_mode))
        return Error{ErrorCode::unsupported, 0, fmt::format("'{}' is not a regular file", path)};
    const std::string again = fmt::format("/proc/self/fd/{}", place.get());
    UniqueFd fd(::open(again.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return errno_error(fmt::format("open '{}'", path));
    return fd;
}

enum class Identity { same, unsure, other };

Identity compare(int fd, const Mapping& mapping) {
    struct stat status;
    if (::fstat(fd, &status) != 0) return Identity::other;
    const std::uint64_t device = static_cast<std::uint64_t>(major(status.st_dev)) << 32 |
                                 static_cast<std::uint64_t>(minor(status.st_dev));
    if (device != mapping.device) return Identity::unsure;
    return status.st_ino == mapping.inode ? Identity::same : Identity::other;
}

// Keeps the best of the files that were tried.
class Search {
  public:
    explicit Search(const Mapping& mapping) : mapping_(mapping) {}

    // Tries a file. Returns true if it is certainly the mapped one. With `may_be_unsure`, a file
    // that may be another one is kept too.
    bool found(const std::string& path, bool may_be_unsure) {
        auto opened = open_regular(path);
        if (!opened) {
            if (!best_) failure_ = std::move(opened).error();
            return false;
        }
        const Identity identity = compare(opened->get(), mapping_);
        if (identity == Identity::same || (identity == Identity::unsure && may_be_unsure && !best_))
            best_ = std::move(opened).value();
        return identity == Identity::same;
    }

    Result<UniqueFd> result() && {
        if (best_) return std::move(best_);
        if (failure_.code == ErrorCode::unsupported) return failure_;
        return Error{ErrorCode::not_found, 0,
                     fmt::format("'{}' is not the file that the program mapped", mapping_.name)};
    }

  private:
    const Mapping& mapping_;
    UniqueFd best_;
    Error failure_{ErrorCode::not_found, 0, ""};
};

bool has_inode(const std::string& path, const Mapping& mapping) {
    struct stat status;
    return ::stat(path.c_str(), &status) == 0 && status.st_ino == mapping.inode;
}

// Looks at the first few thousand descriptors of the process, which may have kept the file's.
bool found_among_descriptors(const std::string& folder, const Mapping& mapping, Search& search) {
    constexpr int most = 4096;
    const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir(folder.c_str()), &::closedir);
    if (!all) return false;
    for (int i = 0; i < most; ++i) {
        const dirent* const each = ::readdir(all.get());
        if (each == nullptr) return false;
        const std::string path = folder + each->d_name;
        if (has_inode(path, mapping) && search.found(path, false)) return true;
    }
    return false;
}

}  // namespace

std::string_view mapped_path(const Mapping& mapping) {
    std::string_view path = mapping.name;
    if (path.ends_with(deleted_suffix)) path.remove_suffix(deleted_suffix.size());
    return path;
}

FileView FileView::of(pid_t process) {
    const auto same = [process](const char* what) {
        struct stat own, other;
        return ::stat(fmt::format("/proc/self/{}", what).c_str(), &own) == 0 &&
               ::stat(fmt::format("/proc/{}/{}", process, what).c_str(), &other) == 0 &&
               own.st_dev == other.st_dev && own.st_ino == other.st_ino;
    };
    return {process, same("ns/mnt") && same("root")};
}

Result<UniqueFd> open_mapped_file(const Mapping& mapping, const FileView& view) {
    const bool deleted = mapping.name.ends_with(deleted_suffix);
    const std::string of_process = fmt::format("/proc/{}/", view.process);
    Search search(mapping);
    if (view.process != 0) {
        const std::string program = of_process + "exe";
        const std::string kept = fmt::format("{}map_files/{:x}-{:x}", of_process,
                                             mapping.start.value, mapping.end.value);
        if (!deleted && search.found(of_process + "root" + mapping.name, true))
            return std::move(search).result();
        if (has_inode(kept, mapping) && search.found(kept, true)) return std::move(search).result();
        if (has_inode(program, mapping) && search.found(program, true))
            return std::move(search).result();
        if (deleted && found_among_descriptors(of_process + "fd/", mapping, search))
            return std::move(search).result();
    }
    if (!deleted) search.found(mapping.name, view.is_ours);
    return std::move(search).result();
}

}  // namespace shadowprof
