// What valgrind prints of a run: lines behind "==PID==".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/export/callgrind_events.h"

namespace shadowprof {

// The lines about what a process has counted, without "==PID==", in the form of callgrind's.
// `totals` has a count for each of `events`; `instructions` come first.
std::vector<std::string> callgrind_totals(std::uint64_t instructions,
                                          const std::vector<CallgrindEvents::Event>& events,
                                          const EventCounts& totals);

// Writes lines to a descriptor at once, or to a file when the run has ended.
class CallgrindLog {
  public:
    // `pattern` is one of SafeOutput; empty: lines go to the descriptor.
    CallgrindLog(std::string pattern, int descriptor)
        : pattern_(std::move(pattern)), descriptor_(descriptor) {}

    // Says which program the process executes, unless that was said before.
    void begin(pid_t process, const std::vector<std::string>& command);
    void add(pid_t process, std::string_view line);
    // Writes the file, or one for each process if the name has the process's id. `main` is the
    // process for names without.
    Result<void> end(pid_t main);

  private:
    const std::string pattern_;
    const int descriptor_;
    std::set<pid_t> begun_;
    std::map<pid_t, std::string> texts_;
    std::string whole_;
};

}  // namespace shadowprof
