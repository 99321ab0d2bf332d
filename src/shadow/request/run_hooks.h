// What the caller of a run is told while it goes on, and how it ends it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

namespace shadowprof {

// What a progress line shows.
struct RunProgress {
    double seconds = 0;
    std::uint64_t samples = 0;  // or `unit`
    std::uint64_t instructions = 0;
    std::string_view unit = "samples";
};

// Called now and then while the target runs, in the calling thread.
using ProgressListener = std::function<void(const RunProgress&)>;
// How often it is told.
inline constexpr std::chrono::milliseconds progress_period{250};

struct RunHooks {
    int end_request = -1;                 // readable: the target is let go early, and goes on
    ProgressListener on_progress;         // may be empty
    std::function<void(pid_t)> on_start;  // the program is there; may be empty
};

}  // namespace shadowprof
