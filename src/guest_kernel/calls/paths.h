// How the paths of a sample are resolved.
#pragma once

#include <string>
#include <string_view>

#include "guest_kernel/state/call.h"
#include "guest_kernel/state/file_store.h"

namespace shadowprof {

// A normalised path: absolute if the working directory is known, without empty and "." components.
// Two paths of one file that differ by a symbolic link or ".." stay different.
std::string path_key(const PathRef& path, std::string_view working_directory);

// A path argument with the sample's own names applied. Its file has still to be looked up.
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
// The directory that contains what `path` names.
SamplePath parent_of(const SamplePath& path);

// The file that a path names for the sample. Errors: ENOENT and other refusals, or the end of the
// sample if the file cannot be known. The status includes the sample's changes.
struct FoundFile {
    FileStatus status;
    FileNodeRef node;  // null for a real file that the sample has not opened by this path
};
Emulated<FoundFile> find_file(SyscallCall& call, const SamplePath& path);

}  // namespace shadowprof
