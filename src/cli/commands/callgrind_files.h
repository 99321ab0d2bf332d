// The files that callgrind writes, of a run in exact mode.
#pragma once

#include <sys/types.h>

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/commands/callgrind_log.h"
#include "cli/options/callgrind_options.h"
#include "report/symbols/function_tables.h"
#include "shadow/request/dump_request.h"
#include "shadow/request/run_outcome.h"

namespace shadowprof {

// Each process has a file, and one more for each part that the program ends by a request, or all
// parts in one file. Thread-safe.
class CallgrindFiles {
  public:
    // All must outlive it, and all that it returns.
    CallgrindFiles(const CallgrindRequest& request, CallgrindLog& log, FunctionTables& tables)
        : request_(request), log_(log), tables_(tables) {}

    // Where the part with this number goes, counted from 1.
    DumpRequest part(pid_t process, unsigned number);
    // Writes what no part has, and the process's totals to the log.
    void end_process(RunOutcome outcome);
    // The first thing that went wrong. To be called when the run has ended.
    const std::optional<Error>& failure() const { return failure_; }

  private:
    class Part;
    // The counts of a process so far.
    struct Counted {
        std::uint64_t instructions = 0;
        EventCounts events;
        std::vector<RunOutcome> parts;  // that go to the same file as the rest
    };

    Result<void> take_part(pid_t process, unsigned number, RunOutcome outcome);
    void count(Counted& counted, const Profile& profile);
    Result<void> write(std::span<const RunOutcome> parts, pid_t process, const std::string& suffix);
    void log_end(pid_t process, const Profile& profile, const Counted& counted);

    const CallgrindRequest& request_;
    CallgrindLog& log_;
    FunctionTables& tables_;
    std::mutex mutex_;
    std::map<pid_t, Counted> counted_;
    std::optional<Error> failure_;
};

}  // namespace shadowprof
