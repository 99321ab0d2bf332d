#include "shadow/window/sample_window.h"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "ptrace/test_support.h"

namespace shadowprof::sample_window_test {
namespace {

using namespace std::chrono_literals;
using Clock = WindowWatch::Clock;

constexpr double fault_seconds = 1e-6;
constexpr WindowLimits limits = {.length = 300us,
                                 .longest = 1s,
                                 .max_instructions_per_second = 1e10,
                                 .max_instructions = 10'000'000'000};

// Two registers change at each turn.
int count() {
    asm volatile("1: inc %%rbx\n add $3, %%r14\n jmp 1b" : : : "rbx", "r14", "cc");
    return 0;
}

class Scene {
  public:
    explicit Scene(const std::function<int()>& body) : child_(hub_, body) {
        auto attached = Target::attach(hub_, child_.pid());
        target_ = std::move(need(attached));
    }
    ~Scene() { REQUIRE(target_->detach()); }

    // Looks until a window ends, or the wait for one.
    std::optional<SampleWindow> watch(const WindowLimits& allowed, double price = fault_seconds) {
        std::optional<WindowWatch> watch;
        {
            auto stop = target_->stop();
            const auto snapshot = need(stop).threads()[0].snapshot();
            REQUIRE(snapshot);
            auto begun =
                WindowWatch::begin(child_.pid(), child_.pid(), snapshot->cpu, allowed, price,
                                   pages_of(child_.pid()), room_);  // these replace a replica
            watch.emplace(std::move(need(begun)));
        }
        pauses_ = 0;
        while (true) {
            std::this_thread::sleep_until(watch->next_observation());
            const auto observed = watch->observe(*target_, Clock::now());
            pauses_ += observed.pause.has_value();
            if (!observed.goes_on) break;
        }
        is_lost_ = watch->is_lost();
        return watch->take();
    }
    std::size_t pauses() const { return pauses_; }
    bool is_lost() const { return is_lost_; }
    pid_t pid() const { return child_.pid(); }

  private:
    StateRoom room_;
    TestHub hub_;
    Child child_;
    std::unique_ptr<Target> target_;
    std::size_t pauses_ = 0;
    bool is_lost_ = false;
};

}  // namespace

TEST_CASE("a window has a state of the program's, and the time until then") {
    Scene scene(count);
    std::optional<SampleWindow> window;
    // A machine may be too busy for one at first.
    REQUIRE(wait_until([&] { return (window = scene.watch(limits)).has_value(); }));
    // A window is as long as asked by the wall clock; the program may wait for a processor in it.
    CHECK(window->time.passed_seconds > 0);
    CHECK(scene.pauses() >= 1);  // more than one observation may be needed
    CHECK(window->max_instructions > 0);
    CHECK_FALSE(window->may_end_beyond);
    const auto& state = window->end;
    const auto changes = [&](Gpr gpr) {
        return std::ranges::count(state.telling, static_cast<std::uint8_t>(gpr)) == 1;
    };
    CHECK(changes(Gpr::rbx));
    CHECK(changes(Gpr::r14));
    const GuestAddress stack_pointer{state.cpu[Gpr::rsp]};
    std::size_t stack_bytes = 0;
    CHECK(state.all_memory([&](GuestAddress at, std::span<const std::byte> content) {
        if (at == stack_pointer) stack_bytes = std::max(stack_bytes, content.size());
        return true;
    }));
    // A copy ends with its page.
    const auto rest_of_page = stack_pointer.page().value + page_bytes - stack_pointer.value;
    CHECK(stack_bytes >= std::min<std::uint64_t>(rest_of_page, 512));
}

TEST_CASE("faults that took most of a window leave nothing known of its time") {
    static constexpr std::size_t bytes = std::size_t{1} << 30;
    Scene scene([] {
        // Writes to ever new pages, as a program does after a fork.
        for (;;) {
            auto* memory = static_cast<volatile char*>(
                mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
            for (std::size_t i = 0; i < bytes / 64; i += page_bytes) memory[i] = 1;
            munmap(const_cast<char*>(memory), bytes);
        }
        return 0;
    });
    std::optional<SampleWindow> window;
    // The program has always had such faults, so most count as its own. At this price the others
    // take more than the window.
    const auto has_faults = [&] {
        window = scene.watch(limits, 1.0);
        return window && window->time.faults > 0;
    };
    REQUIRE(wait_until(has_faults));
    CHECK_FALSE(window->time.seconds);
    REQUIRE(wait_until([&] { return (window = scene.watch(limits, 0)).has_value(); }));
    CHECK(window->time.seconds.value_or(0) == doctest::Approx(window->time.passed_seconds));
}

TEST_CASE("windows are several times as long as faults take in them") {
    FaultStorms storms;
    CHECK(storms.min_window() == 0ns);
    storms.observe(1e-3);
    CHECK(storms.min_window() == 3ms);
    for (int i = 0; i < 40; ++i) storms.observe(2e-3);
    CHECK(std::chrono::duration<double>(storms.min_window()).count() ==
          doctest::Approx(6e-3).epsilon(0.01));
    storms.observe(1000);
    CHECK(storms.min_window() == 30ms);
}

TEST_CASE("what is looked at too late has no window, and few instructions are awaited") {
    Scene scene(count);
    WindowLimits few = limits;
    few.max_instructions = 12'345;
    std::optional<SampleWindow> window;
    REQUIRE(wait_until([&] { return (window = scene.watch(few)).has_value(); }));
    CHECK(window->max_instructions == 12'345);
    CHECK(window->may_end_beyond);
    CHECK_FALSE(scene.is_lost());
    WindowLimits late = limits;
    late.longest = late.length / 2;
    CHECK_FALSE(scene.watch(late));
    CHECK(scene.is_lost());
}

TEST_CASE("a thread that sleeps has no window") {
    Scene scene([] { return ::pause(); });
    CHECK_FALSE(scene.watch(limits));
    CHECK_FALSE(scene.is_lost());
}

TEST_CASE("a program that ends has no window") {
    Shared<std::atomic<bool>> end;
    TestHub hub;
    Child child(hub, [&] {
        while (!*end) {
        }
        return 0;
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    std::optional<WindowWatch> watch;
    StateRoom room;
    {
        auto stop = (*target)->stop();
        const auto snapshot = need(stop).threads()[0].snapshot();
        REQUIRE(snapshot);
        auto begun = WindowWatch::begin(child.pid(), child.pid(), snapshot->cpu, limits,
                                        fault_seconds, pages_of(child.pid()), room);
        watch.emplace(std::move(need(begun)));
    }
    *end = true;
    REQUIRE(pump_to_end(hub, **target));
    CHECK_FALSE(watch->observe(**target, Clock::now()).goes_on);
    CHECK_FALSE(watch->take());
}

}  // namespace shadowprof::sample_window_test
