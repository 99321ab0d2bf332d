// Events that runners' threads send to the tracing thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

class SampleRunner;

struct RunnerEvent {
    enum class Kind : std::uint8_t {
        emulated,  // the replica is no longer needed; not posted for live samples
        step,      // the runner waits for answer_step()
        finished,  // the report can be taken with take_report()
    };
    SampleRunner* runner = nullptr;
    Kind kind = Kind::finished;
};

// Events of all runners, for the tracing thread's loop.
class RunnerEvents {
  public:
    static Result<std::unique_ptr<RunnerEvents>> create();

    // Becomes readable when there are events.
    int fd() const { return fd_.get(); }
    void post(const RunnerEvent& event);
    std::optional<RunnerEvent> take();

  private:
    explicit RunnerEvents(UniqueFd fd) : fd_(std::move(fd)) {}

    UniqueFd fd_;
    std::mutex mutex_;
    std::deque<RunnerEvent> events_;
};

}  // namespace shadowprof
