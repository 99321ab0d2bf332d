// Translating ahead of need between the live samples of a process that runs.
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
    // In slices, so that a sample that is due need not wait for longer.
    static constexpr std::chrono::microseconds slice{1000};

    // `thread`: one of the process, through which its memory can be read. From the program counters
    // `roots` on, for as long as `time` in all.
    Preparation(pid_t thread, std::vector<GuestAddress> roots, BurstLevels windows,
                std::chrono::nanoseconds time)
        : thread_(thread), roots_(std::move(roots)), windows_(windows), left_(time) {}

    // Has the worker work for one slice. False if there is no more to do, or the process is gone.
    // `forget_code` is set where the worker must not use what it knows: the process mapped other
    // code meanwhile.
    Result<bool> work(WorkerProcess& worker, bool& forget_code, PreparationTotals& totals);

  private:
    pid_t thread_;
    std::vector<GuestAddress> roots_;
    BurstLevels windows_;
    std::chrono::nanoseconds left_;
};

// Whether two texts of /proc/PID/maps differ in what can be executed, or make no sense.
bool has_other_code(const std::string& before, const std::string& after);

}  // namespace shadowprof
