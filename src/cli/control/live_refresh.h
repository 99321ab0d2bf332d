// `--live`: profiles of a run under way, as often as they are cheap.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "base/files/fd.h"
#include "shadow/request/dump_request.h"

namespace shadowprof {

// How long to wait after a refresh that took this processor time, so that all of them together take
// little of a processor.
std::chrono::nanoseconds pause_after_refresh(std::chrono::nanoseconds cost);

class LiveRefresh {
  public:
    // Shows a profile. `period` is the time from one refresh to the next. Called by other threads,
    // one at a time.
    using Show = std::function<void(RunOutcome outcome, std::chrono::nanoseconds period)>;

    // Error: system.
    static Result<LiveRefresh> create(Show show);

    // Readable when a refresh is due. The first one is due soon after the first take().
    int fd() const;
    // Returns the request for the refresh that is due, if any. The next one is due some time after
    // this one is done.
    std::optional<DumpRequest> take();

  private:
    class Receiver;

    explicit LiveRefresh(std::shared_ptr<Receiver> receiver) : receiver_(std::move(receiver)) {}

    std::shared_ptr<Receiver> receiver_;
    bool has_begun_ = false;
};

}  // namespace shadowprof
