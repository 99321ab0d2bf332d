// Says when a process that is profiled alone mostly waits while its children work, as the parent of
// a pre-fork server does.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shadowprof {

struct ProcessUse {
    pid_t pid = 0;
    std::string name;
    double share = 0;  // of the time, on a processor; may be over 1 with several threads
};

// Returns a sentence that names the busiest of `descendants`, and the commands that take them.
// Nothing if `parent` ran itself, or they did not run.
std::optional<std::string> note_of_busy_children(const ProcessUse& parent,
                                                 std::vector<ProcessUse> descendants);

// Measures the processor time of a process and of those that descend from it at the beginning.
class ChildrenWatch {
  public:
    explicit ChildrenWatch(pid_t pid);

    // Returns note_of_busy_children() for the time since the beginning. Nothing if the process has
    // ended.
    std::optional<std::string> note() const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Beginning {
        pid_t pid = 0;
        std::uint64_t cpu_ns = 0;
    };

    static std::optional<ProcessUse> use_since(const Beginning& beginning, double seconds);

    Beginning parent_;
    std::vector<Beginning> descendants_;
    Clock::time_point begin_ = Clock::now();
};

}  // namespace shadowprof
