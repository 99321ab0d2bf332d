#include "shadow/budget/processor_theft.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "ptrace/proc.h"

namespace shadowprof {
namespace {

// Beyond, looking would cost more than it tells.
constexpr std::size_t most_threads = 256;
// From one look to the next, of what is remembered of the earlier ones.
constexpr double remembered = 0.75;

}  // namespace

Result<void> RunTimes::add(std::string_view text) {
    std::uint64_t numbers[2] = {};
    for (auto& number : numbers) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc{}) return Error{ErrorCode::invalid, 0, "schedstat has no times"};
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    }
    run_ns += numbers[0];
    delay_ns += numbers[1];
    return {};
}

Result<RunTimes> read_run_times(pid_t pid) {
    TRY_ASSIGN(auto tids, read_thread_ids(pid));
    tids.resize(std::min(tids.size(), most_threads));
    RunTimes times;
    std::size_t counted = 0;
    for (const pid_t tid : tids) {
        const auto text = read_proc_text(fmt::format("/proc/{}/task/{}/schedstat", pid, tid));
        if (!text) continue;  // it has ended meanwhile
        TRY(times.add(*text));
        ++counted;
    }
    if (counted == 0) return Error{ErrorCode::unsupported, 0, "no thread's schedstat is readable"};
    return times;
}

double ProcessorTheft::observe(Clock::time_point now, const RunTimes& times, std::uint64_t ours_ns,
                               std::uint64_t stopped_ns) {
    const auto before = std::exchange(last_, Look{now, times, ours_ns, stopped_ns});
    if (!before || now <= before->time) return 0;
    const auto since = [](std::uint64_t after, std::uint64_t earlier) {
        return static_cast<double>(after - std::min(after, earlier));  // threads end
    };
    const auto run_ns = since(times.run_ns, before->times.run_ns);
    const auto delay_ns = since(times.delay_ns, before->times.delay_ns);
    const std::chrono::duration<double, std::nano> passed = now - before->time;
    const auto beside_ns =
        std::max(since(ours_ns, before->ours_ns) - since(stopped_ns, before->stopped_ns), 0.0);
    const auto taken_ns = std::min(delay_ns, beside_ns);
    beside_ns_ = remembered * beside_ns_ + beside_ns;
    taken_ns_ = remembered * taken_ns_ + taken_ns;
    const auto threads = std::max(1.0, (run_ns + delay_ns) / passed.count());
    return std::min(taken_ns / threads, passed.count()) / 1e9;
}

}  // namespace shadowprof
