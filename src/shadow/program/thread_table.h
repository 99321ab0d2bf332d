// What each thread of the sampled processes contributed.
#pragma once

#include <sys/types.h>

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "profile/profile.h"
#include "profile/statistics/count_scale.h"
#include "shadow/window/sample_job.h"

namespace shadowprof {

class ThreadTable {
  public:
    // Further threads are counted together with those that began within samples, as a server may
    // start one for each request.
    static constexpr std::size_t max_threads = 4096;

    // Adds a sample of process `pid`. Names are read while the threads live.
    void add(pid_t pid, std::span<const ThreadShare> shares, std::uint32_t weight);

    // Hottest first. `scale` is the scale of all samples.
    std::vector<ThreadProfile> profiles(const CountScale& scale) const;

  private:
    struct Row {
        std::string name;
        std::uint64_t samples = 0;
        std::uint64_t instructions = 0;  // weighted
    };

    std::map<std::pair<pid_t, pid_t>, Row> rows_;
};

}  // namespace shadowprof
