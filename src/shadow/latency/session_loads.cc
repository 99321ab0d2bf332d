#include "shadow/latency/session_loads.h"

#include "base/clock.h"
#include "shadow/latency/load_timer.h"

namespace shadowprof {
namespace {

using Clock = std::chrono::steady_clock;

// A worker that does not end in this time is taken for hung.
constexpr std::chrono::seconds longest_end{2};
constexpr std::uint64_t max_load_bytes = 64;

constexpr LoadAnswer skipped{LoadAnswer::Outcome::skipped, 0, 0, 0};

LoadAnswer answer_to(const LoadQuestion& question, LoadTimer& timer, const TimeableMemory& memory,
                     Clock::time_point until, SessionLoads& loads) {
    const auto size = question.size_bytes;
    if (size == 0 || size > max_load_bytes) return skipped;
    const auto last = question.address + (size - 1);
    if (last < question.address || !memory.contains(question.address, last)) return skipped;
    const auto start = Clock::now();
    const auto timed = timer.time(question.address, last, until);
    if (!timed) return skipped;
    const bool counts = question.counts && Clock::now() - start <= longest_answer;
    if (!*timed) return {LoadAnswer::Outcome::faulted, 0, 0, 0};
    const TimedLoad& load = **timed;
    if (counts) loads.timed.push_back({question.pc, question.address, size, load.cycles});
    return {LoadAnswer::Outcome::timed, std::to_integer<std::uint8_t>(load.first),
            std::to_integer<std::uint8_t>(load.last), load.cycles};
}

void take_outcome(LoadsOutcome outcome, SessionLoads& loads) {
    loads.is_over = true;
    loads.end = outcome.done.end;
    loads.counts = outcome.done.counts;
    loads.tallies = std::move(outcome.tallies);
    loads.probed = std::move(outcome.probed);
    loads.translation_ns = outcome.done.translation_ns;
    loads.worker_exhausted = outcome.done.exhausted != 0;
}

}  // namespace

SessionLoads follow_loads(WorkerProcess& worker, LoadTimer& timer, const TimeableMemory& memory,
                          Clock::time_point until) {
    SessionLoads loads;
    while (true) {
        auto next = worker.next_of_loads(until);
        if (!next) {
            loads.worker_lost = next.error().code != ErrorCode::interrupted;
            return loads;
        }
        if (auto* outcome = std::get_if<LoadsOutcome>(&*next)) {
            take_outcome(std::move(*outcome), loads);
            return loads;
        }
        const auto start = Clock::now();
        const auto answer = answer_to(std::get<LoadQuestion>(*next), timer, memory, until, loads);
        ++loads.questions;
        loads.timing_ns += to_ns(Clock::now() - start);
        if (!worker.answer_load(answer)) {
            loads.worker_lost = true;
            return loads;
        }
    }
}

void finish_loads(WorkerProcess& worker, SessionLoads& loads) {
    const auto until = Clock::now() + longest_end;
    while (!loads.is_over && !loads.worker_lost) {
        auto next = worker.next_of_loads(until);
        if (next && std::holds_alternative<LoadsOutcome>(*next))
            take_outcome(std::move(std::get<LoadsOutcome>(*next)), loads);
        else
            loads.worker_lost = !next || !worker.answer_load(skipped);
    }
}

}  // namespace shadowprof
