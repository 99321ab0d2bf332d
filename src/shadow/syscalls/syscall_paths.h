// Paths of a sample: how they resolve, and the names that the sample made or removed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "shadow/syscalls/syscall_file_store.h"

namespace shadowprof {

// A path in one spelling: absolute where the working directory is known, without empty and "."
// components. Two spellings of one file that differ by a symbolic link or ".." stay different.
std::string path_key(const PathRef& path, std::string_view working_directory);

// The names that the sample changed. The file system's other names are as they are.
class PathOverlay {
  public:
    enum class State : std::uint8_t {
        untouched,
        removed,
        present,  // made by the sample, or moved here: `node`
        unknown,  // changed by a call whose effect is not followed
    };
    struct Entry {
        State state = State::untouched;
        FileNodeRef node;
    };

    // What the sample did to this name or to a directory above it.
    Entry find(std::string_view key) const;
    void set(std::string key, Entry entry) {
        entries_.insert_or_assign(std::move(key), std::move(entry));
    }

  private:
    std::map<std::string, Entry, std::less<>> entries_;
};

// A path argument after the sample's own rules; what it names has still to be looked up.
struct SamplePath {
    PathRef ref;
    std::string key;
};

// Reads a NUL-terminated string of at most PATH_MAX bytes: EFAULT, ENAMETOOLONG.
Emulated<std::string> load_path(SyscallCall& call, GuestAddress from);

// The path at `address`, relative to `directory` (AT_FDCWD or a descriptor): EFAULT, ENAMETOOLONG,
// ENOENT if it is empty, EBADF, ENOTDIR.
Emulated<SamplePath> sample_path(SyscallCall& call, int directory, GuestAddress address,
                                 bool follow = true);
// The directory that holds what `path` names.
SamplePath parent_of(const SamplePath& path);

// What a path names for the sample: ENOENT and other refusals, or the end of the sample where that
// cannot be known. The status has the sample's changes.
struct FoundFile {
    FileStatus status;
    FileNodeRef node;  // null for a real file that the sample has not opened by this name
};
Emulated<FoundFile> find_file(SyscallCall& call, const SamplePath& path);

}  // namespace shadowprof
