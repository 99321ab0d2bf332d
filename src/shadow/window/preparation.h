// Translates code ahead of need, between the live samples of a process that runs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files/fd.h"
#include "base/guest_address.h"
#include "base/memory_map.h"
#include "emu/worker/worker_process.h"

namespace shadowprof {

struct PreparationTotals {
    std::uint64_t instructions = 0;
    std::uint64_t nanoseconds = 0;
};

class Preparation {
  public:
    // Work is cut into slices, so that a sample that is due waits no longer than this.
    static constexpr std::chrono::microseconds slice{1000};

    // `thread` is one of the process, through which its memory can be read. Translates from the
    // program counters `roots` on, for `time` in all.
    Preparation(pid_t thread, std::vector<GuestAddress> roots, BurstLevels bursts,
                std::chrono::nanoseconds time)
        : thread_(thread), roots_(std::move(roots)), bursts_(bursts), left_(time) {}

    // Has the worker translate for one slice. Returns false if there is no more to do, or if the
    // process is gone. `forget_code` says whether the worker must forget the code that it knows. It
    // is set on return if the process mapped other code meanwhile.
    Result<bool> work(WorkerProcess& worker, bool& forget_code, PreparationTotals& totals);

  private:
    pid_t thread_;
    std::vector<GuestAddress> roots_;
    BurstLevels bursts_;
    std::chrono::nanoseconds left_;
};

// Whether two texts of /proc/PID/maps differ in their executable mappings. True if one of them
// cannot be parsed.
bool has_other_code(const std::string& before, const std::string& after);

}  // namespace shadowprof
