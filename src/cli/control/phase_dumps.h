// `--dump-every`: a profile of each interval of a run, in files of their own.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files/fd.h"
#include "cli/control/dump_file.h"

namespace shadowprof {

// The name of the file of phase `number`, beside the file of the whole run: "a/b.json" gives
// "a/b.0001.json", "b" gives "b.0001".
std::string phase_file(std::string_view output, unsigned number);

class PhaseDumps {
  public:
    // What to tell the user. By any thread.
    using Complain = std::function<void(const std::string&)>;

    // Error: system.
    static Result<PhaseDumps> create(std::chrono::nanoseconds interval, std::string output,
                                     OpenDumpFile open, Complain complain);

    // Readable when an interval has ended. The first one begins with the first take().
    int fd() const { return timer_.get(); }
    // The profile that is due, if any. While the last one is still being written none is: the phase
    // goes on for another interval.
    std::optional<DumpRequest> take();
    // That of the interval which the end of the run cuts off.
    DumpRequest last() { return next(); }

  private:
    PhaseDumps(std::chrono::nanoseconds interval, std::string output, OpenDumpFile open,
               Complain complain, UniqueFd timer);
    DumpRequest next();

    std::chrono::nanoseconds interval_;
    std::string output_;
    OpenDumpFile open_;
    Complain complain_;
    UniqueFd timer_;
    bool has_begun_ = false;
    unsigned phases_ = 0;
    std::shared_ptr<std::atomic<bool>> writing_;  // shared with who writes
};

}  // namespace shadowprof
