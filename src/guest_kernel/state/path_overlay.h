// The file names that a sample added, moved or removed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "guest_kernel/state/file_store.h"

namespace shadowprof {

// Names that the sample changed; all other names are the file system's.
class PathOverlay {
  public:
    enum class State : std::uint8_t {
        untouched,
        removed,
        present,  // made or moved here by the sample: `node`
        unknown,  // changed by a call whose effect is not tracked
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

}  // namespace shadowprof
