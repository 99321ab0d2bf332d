#include "guest_kernel/state/path_overlay.h"

namespace shadowprof {

PathOverlay::Entry PathOverlay::find(std::string_view key) const {
    if (entries_.empty()) return {};
    if (auto it = entries_.find(key); it != entries_.end()) return it->second;
    for (auto slash = key.rfind('/'); slash != std::string_view::npos && slash > 0;
         slash = key.rfind('/', slash - 1)) {
        auto above = entries_.find(key.substr(0, slash));
        if (above == entries_.end()) continue;
        // A new directory contains only names that have their own entry.
        bool unknown = above->second.state == State::unknown;
        return {unknown ? State::unknown : State::removed, nullptr};
    }
    return {};
}

}  // namespace shadowprof
