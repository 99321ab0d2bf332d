#include "shadow/looks/program_time.h"

#include <doctest/doctest.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

#include "profile/code/kernel_calls.h"
#include "ptrace/proc/proc.h"
#include "ptrace/test_support.h"
#include "shadow/looks/clock_looks.h"
#include "shadow/looks/thread_looks.h"
#include "shadow/request/run_options.h"

namespace shadowprof::program_time_test {
namespace {

using Clock = ProgramTime::Clock;

struct Facts {
    std::atomic<std::uint32_t> stop{0};
    std::atomic<pid_t> busy{0};
};

int spin_until_stopped(Facts& facts) {
    facts.busy = ::gettid();
    while (!facts.stop) spin_for(100'000);
    return 0;
}

// A call that is no tail call, with a large frame.
__attribute__((noinline)) int spin_deeply(Facts& facts, int depth) {
    std::array<volatile char, 1024> frame;
    frame[0] = static_cast<char>(depth);
    const int result = depth == 0 ? spin_until_stopped(facts) : spin_deeply(facts, depth - 1);
    return result + frame[0] * 0;
}

__attribute__((noinline)) int call_the_kernel() {
    std::array<char, 65536> bytes;
    int calls = 0;
    while (::getrandom(bytes.data(), bytes.size(), 0) > 0) ++calls;
    return calls;
}

std::unique_ptr<Looks> looks_by(LookMethod method) {
    if (method == LookMethod::best)
        if (auto looks = ClockLooks::open(1, Looks::usual_share)) return std::move(*looks);
    return std::make_unique<ThreadLooks>(1, Looks::usual_share);
}

// Where the kernel's clock is not for us, both are stops.
LookMethod each_method() {
    LookMethod method = LookMethod::best;
    SUBCASE("by the clock") {}
    SUBCASE("by stops") {
        method = LookMethod::stops;
    }
    return method;
}

// Finds a thread once in its code and once in the kernel.
class FixedLooks final : public Looks {
  public:
    FixedLooks(pid_t pid, std::optional<double> share) : pid_(pid), share_(share) {}

    Clock::time_point next() const override { return {}; }
    std::optional<int> processor_to_visit(const ProcessTree&) override { return std::nullopt; }
    std::vector<SeenThread> look(const ProcessTree&, std::optional<int>,
                                 Clock::time_point) override {
        SeenThread in_code{.process = 0, .pid = pid_, .tid = pid_, .time_ns = 100};
        in_code.cpu.emplace().rip = GuestAddress{reinterpret_cast<std::uint64_t>(&spin_for)};
        in_code.stack = &stack_;
        return {in_code, {.process = 0, .pid = pid_, .tid = pid_, .time_ns = 300}};
    }
    void skip(Clock::time_point) override {}
    std::vector<SeenThread> pause(const ProcessTree&, Clock::time_point) override { return {}; }
    std::chrono::nanoseconds paused() const override { return {}; }
    std::optional<double> max_kernel_share() const override { return share_; }

  private:
    pid_t pid_;
    std::optional<double> share_;
    StackCopy stack_;
};

// A run whose threads are looked at.
struct Run {
    explicit Run(const std::function<int()>& body, LookMethod method, Forks forks = Forks::detach)
        : child(hub, body),
          target(Target::attach(hub, child.pid(), forks)),
          time(modules, looks_by(method)) {
        tree.emplace(hub, *need(target), Clock::now());
    }
    bool until(const std::function<bool()>& condition) {
        return wait_until(condition, [&] {
            while (const auto event = hub.poll()) tree->handle(*event);
            tree->update(Clock::now());
            time.update(*tree, {}, Clock::now());
        });
    }
    Profile profile() const {
        Profile profile;
        time.fill(profile);
        return profile;
    }
    std::uint64_t looks() const { return profile().sampling.counters.at("looks"); }
    // Whether a location is in a function of this program, which sanitizers make some hundred bytes
    // long, or in one of the few behind it.
    template <typename Function>
    auto is_in(Function* function) {
        constexpr std::uint64_t bytes = 1024;
        const auto map = read_memory_map(::getpid());
        REQUIRE(map);
        const GuestAddress at{reinterpret_cast<std::uint64_t>(function)};
        const auto start = MapResolver(*map, modules).resolve(at);
        return [=](CodeLocation l) {
            return l.module == start.module && l.address >= start.address &&
                   l.address < start.address + bytes;
        };
    }

    TestHub hub;
    Child child;
    Result<std::unique_ptr<Target>> target;
    std::optional<ProcessTree> tree;
    ModuleTable modules;
    ProgramTime time;
};

}  // namespace

TEST_CASE("a thread that computes is found in its stack, for the time that it ran") {
    Shared<Facts> facts;
    constexpr int depth = 20;
    Run run([&] { return spin_deeply(*facts, depth); }, each_method());
    REQUIRE(run.until([&] { return run.looks() >= 20; }));
    const auto profile = run.profile();
    std::uint64_t time_ns = 0, looks = 0, whole = 0;
    for (const LookedStack& each : profile.looked_stacks) {
        time_ns += each.time_ns;
        looks += each.looks;
        const bool is_whole = std::ranges::count_if(each.frames, run.is_in(&spin_deeply)) > depth &&
                              run.is_in(&spin_for)(each.frames.back());
        if (is_whole) whole += each.looks;
    }
    CHECK(looks == profile.sampling.counters.at("looks"));
    // A processor that the host takes away for a moment looks like one at work in the kernel.
    CHECK(profile.sampling.counters.at("looks_in_kernel") * 4 <= looks);
    CHECK(profile.sampling.counters.at("looks_lost") == 0);
    // Some may be in the loop around spin_for(), and the first copy of the stack is too small.
    CHECK(whole * 10 >= looks * 6);
    REQUIRE(profile.threads.size() == 1);
    CHECK(profile.threads[0].tid == facts->busy);
    CHECK(profile.threads[0].time_ns == time_ns);
    const auto sum = [](std::uint64_t before, const PlaceTime& each) {
        return before + each.time_ns;
    };
    CHECK(std::accumulate(profile.times.begin(), profile.times.end(), std::uint64_t{0}, sum) ==
          time_ns);
}

TEST_CASE("more is copied of a stack that is deeper than what is copied at first") {
    constexpr int depth = 60;
    Shared<Facts> facts;
    Run run([&] { return spin_deeply(*facts, depth); }, LookMethod::stops);
    const auto is_deep = run.is_in(&spin_deeply);
    CHECK(run.until([&] {
        return std::ranges::any_of(run.profile().looked_stacks, [&](const LookedStack& each) {
            return std::ranges::count_if(each.frames, is_deep) > depth;
        });
    }));
}

TEST_CASE("time in the kernel is in the system call, which is called from the program") {
    Run run(&call_the_kernel, each_method());
    REQUIRE(run.until([&] { return run.looks() >= 20; }));
    const auto profile = run.profile();
    const auto modules = run.modules.modules();
    const auto is_caller = run.is_in(&call_the_kernel);
    std::uint64_t in_kernel = 0;
    for (const LookedStack& each : profile.looked_stacks) {
        const CodeLocation place = each.frames.back();
        if (modules[place.module].path != kernel_module) continue;
        in_kernel += each.looks;
        if (place.address == unknown_call) continue;
        CHECK(place.address == SYS_getrandom);
        CHECK(std::ranges::any_of(each.frames, is_caller));
    }
    CHECK(in_kernel == profile.sampling.counters.at("looks_in_kernel"));
    CHECK(in_kernel * 10 >= run.looks() * 8);
}

TEST_CASE("threads and processes that begin later are looked at, too") {
    Shared<Facts> of_thread, of_process;
    Shared<std::atomic<bool>> go;
    Run run(
        [&] {
            while (!*go) ::usleep(100);
            if (::fork() == 0) ::_exit(spin_until_stopped(*of_process));
            std::thread([&] { spin_until_stopped(*of_thread); }).join();
            return 0;
        },
        each_method(), Forks::follow);
    *go = true;
    const auto has_time = [&](const std::atomic<pid_t>& tid) {
        const auto threads = run.profile().threads;
        return std::ranges::any_of(threads, [&](const ThreadProfile& each) {
            return each.tid == tid && each.time_ns != 0;
        });
    };
    CHECK(run.until([&] { return has_time(of_thread->busy) && has_time(of_process->busy); }));
    ::kill(of_process->busy, SIGKILL);
}

TEST_CASE("what was seen before a process ends is not lost") {
    Shared<Facts> facts;
    Run run([&] { return spin_until_stopped(*facts); }, each_method());
    REQUIRE(run.until([&] { return run.looks() >= 3; }));
    facts->stop = 1;
    REQUIRE(pump_to_end(run.hub, **run.target));
    const auto before = run.looks();
    run.time.finish(*run.tree, Clock::now());
    CHECK(run.looks() >= before);
    CHECK(!run.profile().times.empty());
}

TEST_CASE("looks that are found too often in the kernel have its share of the time") {
    struct Case {
        std::optional<double> share;
        std::uint64_t kernel_ns, program_ns;
    };
    // Of 400 ns, 300 were found in the kernel.
    for (const Case& each : {Case{std::nullopt, 300, 100}, Case{0.5, 200, 200}, Case{0.9, 300, 100},
                             Case{0.0, 0, 400}}) {
        CAPTURE(each.kernel_ns);
        Shared<Facts> facts;
        TestHub hub;
        const Child child(hub, [&] { return spin_until_stopped(*facts); });
        auto target = Target::attach(hub, child.pid());
        ProcessTree tree(hub, *need(target), Clock::now());
        ModuleTable modules;
        ProgramTime time(modules, std::make_unique<FixedLooks>(child.pid(), each.share));
        time.update(tree, {}, Clock::now());
        time.finish(tree, Clock::now());
        Profile profile;
        time.fill(profile);
        CHECK(profile.sampling.counters.at("looks_in_kernel_ns") == each.kernel_ns);
        CHECK(profile.sampling.counters.at("looks_found_in_kernel_ns") == 300);
        REQUIRE(profile.threads.size() == 1);
        CHECK(profile.threads[0].time_ns == 400);
        const auto list = modules.modules();
        for (const PlaceTime& place : profile.times)
            CHECK(place.time_ns ==
                  (list[place.at.module].path == kernel_module ? each.kernel_ns : each.program_ns));
        CHECK(profile.times.size() == 2);
    }
}

TEST_CASE("without a look the profile has no times") {
    ModuleTable modules;
    const ProgramTime time(modules, looks_by(LookMethod::stops));
    Profile profile;
    time.fill(profile);
    CHECK(profile.times.empty());
    CHECK(profile.looked_stacks.empty());
    CHECK(profile.sampling.counters.at("looks") == 0);
}

}  // namespace shadowprof::program_time_test
