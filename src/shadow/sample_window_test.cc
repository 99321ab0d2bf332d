#include "shadow/sample_window.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>

#include "ptrace/test_support.h"

namespace shadowprof::sample_window_test {
namespace {

using namespace std::chrono_literals;
using Clock = WindowWatch::Clock;

constexpr double fault_seconds = 1e-6;
constexpr std::chrono::nanoseconds length = 300us;

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

    // Looks to the end of a window, or of the wait for one.
    std::optional<SampleWindow> watch() {
        std::optional<WindowWatch> watch;
        {
            auto stop = target_->stop();
            const auto snapshot = need(stop).threads()[0].snapshot();
            REQUIRE(snapshot);
            auto begun = WindowWatch::begin(child_.pid(), child_.pid(), snapshot->cpu, length,
                                            fault_seconds);
            watch.emplace(std::move(need(begun)));
        }
        pauses_.clear();
        while (true) {
            std::this_thread::sleep_until(watch->next_look());
            if (!watch->look(*target_, Clock::now(), pauses_)) break;
        }
        most_ = 0;
        auto window = watch->take();
        if (window) most_ = watch->most_instructions();
        return window;
    }
    std::size_t pauses() const { return pauses_.size(); }
    std::uint64_t most_instructions() const { return most_; }
    pid_t pid() const { return child_.pid(); }

  private:
    TestHub hub_;
    Child child_;
    std::unique_ptr<Target> target_;
    std::vector<std::chrono::nanoseconds> pauses_;
    std::uint64_t most_ = 0;
};

}  // namespace

TEST_CASE("a window has a state of the program's, and the time until then") {
    Scene scene(count);
    std::optional<SampleWindow> window;
    // A machine may be too busy for one at first.
    REQUIRE(wait_until([&] { return (window = scene.watch()).has_value(); }));
    CHECK(window->seconds > 0.9 * std::chrono::duration<double>(length).count());
    CHECK(window->states.size() <= 2);
    CHECK(window->states.size() == scene.pauses());
    CHECK(scene.most_instructions() > 0);
    const auto& state = window->states.back();
    const auto changes = [&](Gpr gpr) {
        return std::ranges::count(state.telling, static_cast<std::uint8_t>(gpr)) == 1;
    };
    CHECK(changes(Gpr::rbx));
    CHECK(changes(Gpr::r14));
    std::size_t stack_pieces = 0;
    CHECK(state.all_memory([&](GuestAddress at, std::span<const std::byte> content) {
        stack_pieces += at.value == state.cpu[Gpr::rsp] && content.size() > 64;
        return true;
    }));
    CHECK(stack_pieces == 1);
}

TEST_CASE("a thread that sleeps has no window") {
    Scene scene([] { return ::pause(); });
    CHECK_FALSE(scene.watch());
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
    {
        auto stop = (*target)->stop();
        const auto snapshot = need(stop).threads()[0].snapshot();
        REQUIRE(snapshot);
        auto begun =
            WindowWatch::begin(child.pid(), child.pid(), snapshot->cpu, length, fault_seconds);
        watch.emplace(std::move(need(begun)));
    }
    *end = true;
    REQUIRE(pump_to_end(hub, **target));
    std::vector<std::chrono::nanoseconds> pauses;
    CHECK_FALSE(watch->look(**target, Clock::now(), pauses));
    CHECK_FALSE(watch->take());
}

}  // namespace shadowprof::sample_window_test
