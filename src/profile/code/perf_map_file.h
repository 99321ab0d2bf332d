// Finds the file of names that a just-in-time compiler writes for perf, /tmp/perf-PID.map.
#pragma once

#include <sys/types.h>

#include "base/files/fd.h"
#include "profile/code/mapped_file.h"

namespace shadowprof {

// Where a process writes its map. The process calls itself by the id of its own PID namespace, and
// its /tmp may be another folder than ours. Both are known only while it lives, and stay known
// here.
class PerfMapPlace {
  public:
    enum class Folder : std::uint8_t { kept, named };

    // With Folder::kept, a folder that is not our /tmp is kept open.
    PerfMapPlace(const FileView& view, Folder folder);

    // Opens the map as it is now, or else one in our /tmp under the process id as we know it, where
    // tools put copies. Nothing if there is none.
    UniqueFd open() const;
    bool keeps_folder() const { return static_cast<bool>(folder_); }

  private:
    pid_t process_;
    pid_t own_id_;     // in the process's own namespace
    UniqueFd folder_;  // none: our /tmp, or unknown
    bool is_ours_;
};

}  // namespace shadowprof
