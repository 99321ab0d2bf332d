// Opens the very files that a process has mapped, wherever their names lead by now.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/result.h"

namespace shadowprof {

// How a process sees files.
struct FileView {
    pid_t process = 0;    // 0: no process
    bool is_ours = true;  // a path leads the process to the same file as us

    static FileView of(pid_t process);
};

// Opens the file behind a mapping for reading. Tries the mapping's path as the process sees it, the
// kernel's links to the mapping and to the program in /proc, the process's descriptors if the file
// was deleted or never had a name, and the path as we see it. Skips a file that is certainly
// another one than was mapped. Some file systems (overlayfs, btrfs) show other device numbers in
// stat than in maps, and then no file's identity is certain.
//
// Opens only regular files. Errors: ErrorCode::not_found if the file was deleted or replaced since
// it was mapped and /proc does not lead to it.
Result<UniqueFd> open_mapped_file(const Mapping& mapping, const FileView& view = {});

// The path in a mapping's name, without the kernel's suffix for deleted files.
std::string_view mapped_path(const Mapping& mapping);

}  // namespace shadowprof
