#include "shadow/emulation/runner_events.h"

#include <sys/eventfd.h>

namespace shadowprof {

Result<std::unique_ptr<RunnerEvents>> RunnerEvents::create() {
    UniqueFd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!fd) return errno_error("eventfd");
    return std::unique_ptr<RunnerEvents>(new RunnerEvents(std::move(fd)));
}

void RunnerEvents::post(const RunnerEvent& event) {
    {
        const std::lock_guard lock(mutex_);
        events_.push_back(event);
    }
    eventfd_write(fd_.get(), 1);
}

std::optional<RunnerEvent> RunnerEvents::take() {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) {
        eventfd_t count = 0;
        eventfd_read(fd_.get(), &count);
        return std::nullopt;
    }
    const auto event = events_.front();
    events_.pop_front();
    return event;
}

}  // namespace shadowprof
