// `--dump-every`: writes a profile of each interval of a run to a file of its own.
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
    // Prints a message to the user. Any thread may call it.
    using Complain = std::function<void(const std::string&)>;

    // Error: system.
    static Result<PhaseDumps> create(std::chrono::nanoseconds interval, std::string output,
                                     OpenDumpFile open, Complain complain);

    // Readable when an interval has ended. The first interval begins with the first take().
    int fd() const { return timer_.get(); }
    // Returns the request for the profile that is due, if any. While the last profile is still
    // being written, none is due: the phase goes on for another interval.
    std::optional<DumpRequest> take();
    // Returns the request for the profile of the interval that the end of the run cuts off.
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
    std::shared_ptr<std::atomic<bool>> writing_;  // shared with the thread that writes a profile
};

}  // namespace shadowprof
