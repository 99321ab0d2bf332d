// The runner with a worker process, on a process of the test that spins.
#define DOCTEST_CONFIG_IMPLEMENT
#include "shadow/emulation/sample_runner.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstring>

#include "profile/code/module_table.h"
#include "profile/collect/process_profile.h"
#include "ptrace/test_support.h"
#include "ptrace/thread/process_memory.h"
#include "shadow/emulation/emulation_worker.h"
#include "shadow/emulation/runner_pool.h"
#include "shadow/program/sample_threads.h"
#include "shadow/sampler/fake_source.h"

namespace shadowprof::sample_runner_test {
namespace {

using namespace std::chrono_literals;
using LiveRun = SampleRunner::LiveRun;

// One instruction, so that each sample begins at the same place.
int spin() {
    while (true) asm volatile(".byte 0xeb, 0xfe");
    return 0;
}

// Three instructions per turn.
int count() {
    asm volatile("1: inc %%rbx\n add $3, %%r14\n jmp 1b" : : : "rbx", "r14", "cc");
    return 0;
}

// The first two bytes of each instruction.
constexpr std::array<std::array<std::byte, 2>, 4> instructions_of_loops = {{
    {std::byte{0xeb}, std::byte{0xfe}},
    {std::byte{0x48}, std::byte{0xff}},
    {std::byte{0x49}, std::byte{0x83}},
    {std::byte{0xeb}, std::byte{0xf7}},
}};

class Scene {
  public:
    explicit Scene(int (*body)() = spin) : child_(hub_, body) {
        auto attached = Target::attach(hub_, child_.pid());
        target_ = std::move(need(attached));
        auto events = RunnerEvents::create();
        events_ = std::move(need(events));
        auto runner = SampleRunner::start(*events_, profile_.add_collector(), modules_, nullptr);
        runner_ = std::move(need(runner));
        REQUIRE(wait_until([&] { return target_is_in_its_loop(); }));
    }
    ~Scene() {
        const pid_t worker = runner_->worker_pid();
        runner_.reset();
        hub_.discard(worker);
        REQUIRE(target_->detach());
    }

    // Takes a live sample of about 200,000 instructions, enough for all stages of translating hot
    // code. `in_stop` gets it while the target stands still, `after` when the target runs again.
    template <typename InStop, typename After>
    SampleReport sample(InStop in_stop, After after) {
        std::optional<LiveRun> run;
        {
            auto stop = target_->stop();
            need(stop);
            run.emplace(lease().begin_live(source_, job(*stop)));
            in_stop(*run);
        }
        after(std::move(*run));
        run.reset();
        REQUIRE(wait_until([&] { return is_finished(); }));
        return runner_->take_report();
    }
    SampleReport sample() {
        return sample([](LiveRun& run) { CHECK(run.follow()); },
                      [](LiveRun run) { std::move(run).end(); });
    }
    // Returns the report of an endless sample that is given up, and whose worker is killed amid it.
    SampleReport given_up_sample() {
        struct GivenUp final : EmulationHooks {
            void on_emulated() override {}
            std::optional<SampleEnd> on_step(CpuState&, std::span<const StepPage>) override {
                return std::nullopt;
            }
            bool is_given_up() override { return true; }
        } hooks;
        SampleEmulation emulation(profile_.add_collector(), modules_, nullptr);
        REQUIRE(emulation.start_worker());
        auto stop = target_->stop();
        need(stop);
        auto endless = job(*stop);
        endless.limits.instructions = std::uint64_t{1} << 40;
        endless.expected_speed = 1e9;
        emulation.begin_live(endless);
        kill(emulation.worker_pid(), SIGKILL);
        CHECK(hub_.reap(emulation.worker_pid()));
        return emulation.run(endless, hooks);
    }
    SampleReport discarded_sample(const std::string& mapped_since) {
        std::string maps_now;
        return sample([&](const LiveRun& run) { maps_now = mapped_since + run.job().maps_text; },
                      [&](LiveRun run) { std::move(run).discard(maps_now); });
    }

  private:
    SampleRunner::Lease lease() {
        std::optional<SampleRunner::Lease> lease;
        REQUIRE(wait_until([&] {
            if (auto got = runner_->try_lease()) lease.emplace(std::move(*got));
            return lease.has_value();
        }));
        return std::move(*lease);
    }
    bool is_finished() {
        const auto event = events_->take();
        return event && event->kind == RunnerEvent::Kind::finished;
    }
    bool target_is_in_its_loop() {
        const RunsBeforeStop before(*target_);
        auto stop = target_->stop();
        const auto threads = choose_threads(need(stop), ThreadScope::all, random_, before);
        return !threads.empty() && is_in_loop_at(threads[0].cpu.rip);
    }
    bool is_in_loop_at(GuestAddress at) const {
        std::array<std::byte, 2> code{};
        const auto memory = open_process_memory(child_.pid(), O_RDONLY);
        return memory && pread(memory->get(), code.data(), 2, static_cast<off_t>(at.value)) == 2 &&
               std::ranges::count(instructions_of_loops, code) == 1;
    }
    SampleJob job(ScopedStop& stop) {
        SampleJob job;
        job.threads = choose_threads(stop, ThreadScope::all, random_, RunsBeforeStop(*target_));
        auto captured = CapturedProcess::take(child_.pid(), tids_of(job.threads),
                                              CapturedProcess::Flags::none_but_clocks);
        job.captured = std::move(need(captured));
        auto maps = read_maps_text(child_.pid());
        job.maps_text = std::move(need(maps));
        auto memory = open_process_memory(child_.pid(), O_RDONLY);
        job.snapshot = LiveSnapshot{.thread = child_.pid(),
                                    .memory = std::move(need(memory)),
                                    .until = LiveSnapshot::Clock::now() + 60s};
        job.limits.instructions = 200'000;
        job.may_have_window = true;
        return job;
    }

    TestHub hub_;
    Child child_;
    std::unique_ptr<Target> target_;
    ModuleTable modules_;
    ProcessProfile profile_{CollectorOptions{}, modules_};
    FakeSource source_;  // runners' events name a source
    std::mt19937_64 random_{1};
    std::unique_ptr<RunnerEvents> events_;
    std::unique_ptr<SampleRunner> runner_;
};

}  // namespace

TEST_CASE("a pool that has ended leaves no worker, not even a dead one") {
    WaitHub hub;
    ModuleTable modules;
    ProcessProfile profile({}, modules);
    auto pool = RunnerPool::create(hub, modules, profile, nullptr, 1);
    need(pool);
    const auto workers = (*pool)->worker_pids();
    REQUIRE(workers.size() == 1);
    REQUIRE(kill(workers[0], 0) == 0);
    (*pool)->end();
    CHECK(kill(workers[0], 0) == -1);
    CHECK(hub.discarded() == 0);
    CHECK(!(*pool)->is_busy());
    CHECK((*pool)->worker_pids().empty());
}

TEST_CASE("a discarded sample counts nothing, and forgets code only where code was mapped") {
    Scene scene;
    const auto first = scene.sample();
    CHECK_FALSE(first.is_void);
    CHECK(first.instructions > 100'000);
    CHECK(first.counters.translated_instructions > 0);
    const auto without_change = scene.sample();
    CHECK(without_change.counters.translated_instructions == 0);

    const auto data = scene.discarded_sample("00010000-00011000 rw-p 00000000 00:00 0\n");
    CHECK(data.is_void);
    CHECK(data.instructions == 0);
    CHECK(scene.sample().counters.translated_instructions == 0);

    const auto code = scene.discarded_sample("00010000-00011000 r-xp 00000000 00:00 0\n");
    CHECK(code.is_void);
    CHECK(scene.sample().counters.translated_instructions > 0);
}

TEST_CASE("a live sample is emulated again up to a state that the program came to") {
    Scene scene(count);
    CHECK(scene.sample().window == WindowEnd::none);  // room is made for its pages
    constexpr std::uint64_t turns = 1000;
    const auto sample_to = [&](std::uint64_t rbx_turns, std::uint64_t r14_turns,
                               bool may_end_beyond = false) {
        return scene.sample([](LiveRun& run) { CHECK(run.follow()); },
                            [&](LiveRun run) {
                                REQUIRE(run.recorded_pages());
                                SampleWindow window;
                                window.time.passed_seconds = 1e-3;
                                window.end.cpu = run.job().threads[0].cpu;
                                window.end.cpu[Gpr::rbx] += rbx_turns;
                                window.end.cpu[Gpr::r14] += 3 * r14_turns;
                                window.max_instructions = 100'000;
                                window.may_end_beyond = may_end_beyond;
                                run.set_window(window);
                                std::move(run).end();
                            });
    };
    const auto met = sample_to(turns, turns);
    CHECK(met.window == WindowEnd::met);
    CHECK(std::abs(static_cast<double>(met.window_instructions) / (3 * turns) - 1) < 0.05);
    CHECK(met.of_window->passed_seconds == 1e-3);
    CHECK(met.instructions > 100'000);
    CHECK(met.end == SampleEnd::size);
    const auto missed = sample_to(turns, turns + 1);
    CHECK(missed.window == WindowEnd::missed);
    CHECK(missed.missed_by == MissReason::registers);
    CHECK(missed.instructions > 100'000);
    CHECK(sample_to(turns, turns + 1, true).window == WindowEnd::before);
    // An empty window proves nothing.
    CHECK(sample_to(0, 0).window == WindowEnd::none);
    CHECK(scene.sample().window == WindowEnd::none);
}

TEST_CASE("a sample that is given up counts nothing") {
    Scene scene;
    const auto report = scene.given_up_sample();
    CHECK(report.is_void);
    CHECK(report.instructions == 0);
}

TEST_CASE("a live sample that is dropped before it was followed is discarded") {
    Scene scene;
    CHECK(scene.sample([](const LiveRun&) {}, [](const LiveRun&) {}).is_void);
    CHECK_FALSE(scene.sample().is_void);
}

TEST_CASE("a live sample that is dropped behind what followed it ends by itself") {
    Scene scene;
    const auto report =
        scene.sample([](LiveRun& run) { CHECK(run.follow()); }, [](const LiveRun&) {});
    CHECK(report.instructions > 100'000);
}

}  // namespace shadowprof::sample_runner_test

// The worker of the test is the test itself with an argument.
int main(int argc, char** argv) {
    using namespace shadowprof;
    if (argc == 2 && argv[1] == worker_subcommand) return run_emulation_worker(argv);
    return doctest::Context(argc, argv).run();
}
