// How the caller of a run follows its progress, and ends it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "shadow/request/dump_request.h"

namespace shadowprof {

// What a progress line shows.
struct RunProgress {
    double seconds = 0;
    std::uint64_t samples = 0;  // number of `unit`
    std::uint64_t instructions = 0;
    std::string_view unit = "sample";  // in the singular
};

// Called now and then while the target runs, in the calling thread.
using ProgressListener = std::function<void(const RunProgress&)>;
// The period of these calls.
inline constexpr std::chrono::milliseconds progress_period{250};

struct RunHooks {
    int end_request = -1;                 // when readable, the target is let go early, and goes on
    ProgressListener on_progress;         // may be empty
    std::function<void(pid_t)> on_start;  // called when the program has started; may be empty
    // Where the part with this number goes that the program ends by a request, counted from 1. The
    // process is that of the profile: with on_process_end the one that asks, else the target.
    // Empty: such parts are not written. Called by any thread, one at a time.
    std::function<DumpRequest(pid_t process, unsigned number)> part_file;
    // The profile of the run, or of the process, is what no such part has.
    bool rest_is_a_part = false;
    // In exact mode: if it is not empty, each process has a profile of its own, which comes here
    // when the process is followed no longer. That of the run then has no counts of places.
    std::function<void(RunOutcome)> on_process_end;

    // part_file for one process.
    std::function<DumpRequest(unsigned number)> parts_of(pid_t process) const {
        if (!part_file) return {};
        return [file = part_file, process](unsigned number) { return file(process, number); };
    }
};

}  // namespace shadowprof
