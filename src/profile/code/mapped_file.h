// Getting hold of the very files that a process has mapped, wherever their names lead by now.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/result.h"

namespace shadowprof {

// How a process sees files.
struct FileView {
    pid_t process = 0;    // 0: none to ask
    bool is_ours = true;  // a path leads it to the same file as us

    static FileView of(pid_t process);
};

// Opens the file behind a mapping for reading. Tried are the mapping's path as the process sees it,
// what the kernel keeps of the mapping and of the program in /proc, and the path as we see it. What
// is certainly another file than was mapped is passed over; but some file systems (overlayfs,
// btrfs) show other device numbers in stat than in maps, and then nothing is certain.
// Only a regular file. ErrorCode::not_found if the file was deleted or replaced since it was mapped
// and the process does not give it up.
Result<UniqueFd> open_mapped_file(const Mapping& mapping, const FileView& view = {});

// The path in a mapping's name, without what the kernel adds to that of a deleted file.
std::string_view mapped_path(const Mapping& mapping);

}  // namespace shadowprof
