// How long loads of each level take on this machine, measured by the timing code in a process of
// our own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/kinds/latency/latency_levels.h"
#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

enum class ChaseKind : std::uint8_t {
    plain,
    repeated,    // the loads before, made again, so that all lines are in L1
    flushed,     // each line was evicted from all caches before its load
    one_a_page,  // one line of each page, so that no TLB has them all
};

// Loads of a pointer chase of one size, timed as they are in a session.
struct CalibrationRow {
    std::string level;        // the level that it was made for; empty: none
    std::uint64_t bytes = 0;  // size of the chase
    bool huge_pages = false;  // or 4 KiB ones
    ChaseKind kind = ChaseKind::plain;
    std::uint64_t p10 = 0, p50 = 0, p90 = 0;  // cycles

    friend bool operator==(const CalibrationRow&, const CalibrationRow&) = default;
};

struct HostCalibration {
    LatencyHost host;
    std::vector<CalibrationRow> rows;
    double others_share = 0;  // share of the processors that other programs used meanwhile

    friend bool operator==(const HostCalibration&, const HostCalibration&) = default;
};

// Bytes of the data caches of the first processor, from sysfs; 0 if there is none.
struct CacheSizes {
    std::uint64_t l1 = 0, l2 = 0, l3 = 0;
};
CacheSizes read_cache_sizes();

// Checks that the levels that the cache sizes promise are told apart. L1 and L2 may be one level,
// as a stop evicts lines of L1, and L2 and L3 if the counter's steps are too large. Error:
// unsupported.
Result<void> check_levels(const HostCalibration& calibration, const CacheSizes& sizes);

// Measures, and checks the levels. Takes up to 64 MiB of memory, and half a second on an idle
// machine. On a busy one it may be repeated, and takes about five seconds at most. Error
// unsupported: the machine is too busy, or does not tell enough of its caches.
Result<HostCalibration> calibrate(WaitHub& hub);

}  // namespace shadowprof
