#include "cli/control/phase_dumps.h"

#include <fmt/format.h>
#include <sys/timerfd.h>

#include "base/files/fd.h"
#include "report/compression/compression.h"

namespace shadowprof {

std::string phase_file(std::string_view output, unsigned number) {
    const auto base = output.rfind('/') + 1;  // npos + 1 is 0
    // A compressed file has two extensions, and the number goes before both.
    const bool is_compressed = compression_by_name(output) != Compression::none;
    const auto is_extension = [&](std::size_t at) { return at != output.npos && at > base; };
    auto dot = output.rfind('.');
    const bool has_extension = is_extension(dot);
    if (const auto outer = output.rfind('.', dot - 1); is_compressed && is_extension(outer))
        dot = outer;
    const auto end = has_extension ? dot : output.size();
    return fmt::format("{}.{:04}{}", output.substr(0, end), number, output.substr(end));
}

PhaseDumps::PhaseDumps(std::chrono::nanoseconds interval, std::string output, OpenDumpFile open,
                       Complain complain, UniqueFd timer)
    : interval_(interval),
      output_(std::move(output)),
      open_(std::move(open)),
      complain_(std::move(complain)),
      timer_(std::move(timer)),
      writing_(std::make_shared<std::atomic<bool>>(false)) {}

Result<PhaseDumps> PhaseDumps::create(std::chrono::nanoseconds interval, std::string output,
                                      OpenDumpFile open, Complain complain) {
    UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer) return errno_error("timerfd_create");
    return PhaseDumps(interval, std::move(output), std::move(open), std::move(complain),
                      std::move(timer));
}

std::optional<DumpRequest> PhaseDumps::take() {
    if (!std::exchange(has_begun_, true)) {
        const timespec every = {interval_.count() / 1'000'000'000,
                                interval_.count() % 1'000'000'000};
        const itimerspec times = {.it_interval = every, .it_value = every};
        ::timerfd_settime(timer_.get(), 0, &times, nullptr);
    }
    std::uint64_t ended = 0;
    if (!is_readable(timer_.get()) || ::read(timer_.get(), &ended, sizeof ended) <= 0)
        return std::nullopt;
    if (*writing_) return std::nullopt;
    return next();
}

DumpRequest PhaseDumps::next() {
    *writing_ = true;
    std::string file = phase_file(output_, ++phases_);
    const auto on_done = [writing = writing_, complain = complain_](const Result<void>& done) {
        if (!done) complain(fmt::format("--dump-every: {}", done.error().message));
        *writing = false;
    };
    auto receiver = std::make_shared<DumpFileReceiver>(file, open_, on_done);
    return {DumpPart::phase, std::move(file), std::move(receiver)};
}

}  // namespace shadowprof
