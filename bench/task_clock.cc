// Measures the costs of the kernel's clock of processor time (ptrace/proc/task_clock.h) for a
// thread. The cost of a tick is measured with a loop that runs with and without a clock that ticks
// far more often than ours. The kernel also starts and ends a timer at each thread switch. That
// cost is measured with two threads on one processor that wake each other. Both ways are timed in
// turns, and medians are printed as a markdown table.
//
// Build and run: ninja -C build src/shadow/bench_task_clock && build/src/shadow/bench_task_clock
#include "ptrace/proc/task_clock.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/files/put.h"
#include "shadow/program/program_clock.h"

using namespace shadowprof;

namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

constexpr int rounds = 41;
constexpr nanoseconds dense_period{100'000};
constexpr std::uint64_t turns = 100'000'000;
constexpr int switches = 20'000;

double seconds_of(const std::function<void()>& work) {
    const auto begin = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
    std::ranges::nth_element(values,
                             values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
}

void spin() {
    std::uint64_t x = 1;
    for (std::uint64_t i = 0; i < turns; ++i) {
        x = x * 6364136223846793005u + i;
        asm volatile("" : "+r"(x));
    }
}

TaskClock open_clock(nanoseconds period) {
    auto clock = TaskClock::open(0, period);
    if (clock) return std::move(*clock);
    put(stderr, "no task clock: {}\n", clock.error().message);
    std::exit(1);
}

void stay_on_first_processor() {
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_SET(cpu, &one);
            break;
        }
    sched_setaffinity(0, sizeof one, &one);
}

struct Pipe {
    Pipe() {
        if (::pipe(ends) != 0) std::exit(1);
    }
    void put() const {
        const char byte = 0;
        if (::write(ends[1], &byte, 1) != 1) std::exit(1);
    }
    void take() const {
        char byte = 0;
        if (::read(ends[0], &byte, 1) != 1) std::exit(1);
    }
    int ends[2];
};

// Switches between two threads, each with a clock of our period or none.
double seconds_of_switches(bool with_clock, const Pipe& there, const Pipe& back) {
    double seconds = 0;
    std::thread other([&] {
        std::optional<TaskClock> clock;
        if (with_clock) clock.emplace(open_clock(ProgramClock::period));
        for (int i = 0; i < switches; ++i) {
            there.take();
            back.put();
        }
    });
    std::optional<TaskClock> clock;
    if (with_clock) clock.emplace(open_clock(ProgramClock::period));
    seconds = seconds_of([&] {
        for (int i = 0; i < switches; ++i) {
            there.put();
            back.take();
        }
    });
    other.join();
    return seconds;
}

}  // namespace

int main() {
    stay_on_first_processor();
    std::vector<double> plain, dense, without, with;
    double ticks = 0;
    const Pipe there, back;
    for (int round = 0; round < rounds; ++round) {
        plain.push_back(seconds_of(spin));
        auto clock = open_clock(dense_period);
        dense.push_back(seconds_of(spin));
        ticks += dense.back() / std::chrono::duration<double>(dense_period).count();
        without.push_back(seconds_of_switches(false, there, back));
        with.push_back(seconds_of_switches(true, there, back));
    }
    const double tick_us = 1e6 * (median(dense) - median(plain)) / (ticks / rounds);
    const double switch_us = 1e6 * (median(with) - median(without)) / (2.0 * switches);
    const double period_us =
        std::chrono::duration<double, std::micro>(ProgramClock::period).count();
    put(stdout, "| cost | us | of a thread's time |\n|---|---|---|\n");
    put(stdout, "| a tick | {:.2f} | {:.3f}% with one each {:.0f} ms |\n", tick_us,
        100 * tick_us / period_us, period_us / 1000);
    put(stdout,
        "| a switch between threads, {:.2f} us without a clock | {:.2f} | {:.2f}% of it |\n",
        1e6 * median(without) / (2.0 * switches), switch_us,
        100 * switch_us / (1e6 * median(without) / (2.0 * switches)));
    return 0;
}
