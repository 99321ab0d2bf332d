#include "cli/control/live_refresh.h"

#include <sys/timerfd.h>

#include <algorithm>

#include "base/clock.h"

namespace shadowprof {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

// The share of one processor that refreshes may take.
constexpr double largest_refresh_share = 0.02;
constexpr nanoseconds shortest_pause = 1s;
// There is little to see before.
constexpr nanoseconds first_pause = 500ms;

nanoseconds thread_time() {
    return nanoseconds(read_clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

}  // namespace

nanoseconds pause_after_refresh(nanoseconds cost) {
    const double pause = static_cast<double>(cost.count()) / largest_refresh_share;
    return std::max(shortest_pause, nanoseconds(static_cast<nanoseconds::rep>(pause)));
}

// Made once. A refresh is asked for only when the last one is done, so its threads follow each
// other.
class LiveRefresh::Receiver final : public DumpReceiver {
  public:
    Receiver(UniqueFd timer, Show show) : timer_(std::move(timer)), show_(std::move(show)) {}

    int fd() const { return timer_.get(); }
    void arm(nanoseconds pause) {
        const itimerspec times = {
            .it_interval = {},
            .it_value = {pause.count() / 1'000'000'000, pause.count() % 1'000'000'000}};
        ::timerfd_settime(timer_.get(), 0, &times, nullptr);
    }

    // The profile is made between open() and write().
    Result<void> open() override {
        begin_ = thread_time();
        return {};
    }
    // In a thread of its own, which has worked on the profile before.
    Result<void> write(RunOutcome outcome) override {
        show_(std::move(outcome), period_);
        written_ = thread_time();
        return {};
    }
    void on_done(const Result<void>&) override {
        period_ = pause_after_refresh(thread_time() - begin_ + written_);
        arm(period_);
    }

  private:
    UniqueFd timer_;
    const Show show_;
    nanoseconds begin_{}, written_{}, period_ = shortest_pause;
};

Result<LiveRefresh> LiveRefresh::create(Show show) {
    UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer) return errno_error("--live: timerfd_create");
    return LiveRefresh(std::make_shared<Receiver>(std::move(timer), std::move(show)));
}

int LiveRefresh::fd() const {
    return receiver_->fd();
}

std::optional<DumpRequest> LiveRefresh::take() {
    if (!std::exchange(has_begun_, true)) receiver_->arm(first_pause);
    std::uint64_t due = 0;
    if (!is_readable(fd()) || ::read(fd(), &due, sizeof due) <= 0) return std::nullopt;
    return DumpRequest{DumpPart::whole, "", receiver_};
}

}  // namespace shadowprof
