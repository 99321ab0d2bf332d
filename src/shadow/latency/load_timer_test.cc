#include "shadow/latency/load_timer.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <array>
#include <atomic>
#include <csignal>
#include <optional>
#include <thread>

#include "ptrace/proc/proc.h"
#include "ptrace/test_support.h"

namespace shadowprof::load_timer_test {
using namespace std::chrono_literals;

namespace {

// Long enough for a busy machine.
constexpr auto generous = 60s;

std::chrono::steady_clock::time_point in_time() {
    return std::chrono::steady_clock::now() + generous;
}

// What the child counts, and the errors that it found.
struct Work {
    std::atomic<std::uint64_t> rounds{0};
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<std::uint64_t> signals{0};
    alignas(64) std::array<std::uint8_t, 128> bytes{};
};

// Keeps values in general and vector registers, and checks that they stay.
int keep_registers(Work& work) {
    while (true) {
        std::uint64_t wrong = 0;
        asm volatile(
            "mov $0x1122334455667788, %%r12\n mov %%r12, %%r13\n not %%r13\n"
            "movq %%r12, %%xmm7\n movq %%r13, %%xmm15\n mov $20000, %%ecx\n"
            "1: movq %%xmm7, %%rax\n cmp %%r12, %%rax\n jne 2f\n"
            "movq %%xmm15, %%rax\n cmp %%r13, %%rax\n jne 2f\n dec %%ecx\n jnz 1b\n jmp 3f\n"
            "2: mov $1, %0\n"
            "3:"
            : "+r"(wrong)
            :
            : "rax", "rcx", "r12", "r13", "xmm7", "xmm15", "cc");
        work.wrong += wrong;
        ++work.rounds;
    }
}

bool goes_on(Work& work) {
    const auto before = work.rounds.load();
    return wait_until([&] { return work.rounds > before + 2; });
}

// A child that can be stopped for the timer. The scratch memory is made in the first stop.
class Timed {
  public:
    explicit Timed(const std::function<int(Work&)>& body)
        : child_(hub_, [this, body] { return body(*work_); }) {
        REQUIRE(wait_until([&] { return work_->rounds > 0; }));
        auto attached = Target::attach(hub_, child_.pid());
        target_ = std::move(need(attached));
    }
    ~Timed() { REQUIRE(target_->detach()); }

    Result<void> inject() {
        auto stop = target_->stop();
        auto scratch = ScratchMemory::inject(need(stop), timer_code(), timer_data_bytes);
        if (!scratch) return scratch.error();
        scratch_.emplace(*std::move(scratch));
        return {};
    }
    WaitHub& hub() { return hub_; }
    Work& work() { return *work_; }
    Target& target() { return *target_; }
    ScratchMemory& scratch() { return *scratch_; }
    pid_t pid() const { return child_.pid(); }
    GuestAddress bytes() { return {reinterpret_cast<std::uint64_t>(work_->bytes.data())}; }

  private:
    TestHub hub_;
    Shared<Work> work_;
    Child child_;
    std::unique_ptr<Target> target_;
    std::optional<ScratchMemory> scratch_;
};

}  // namespace

TEST_CASE("loads are timed in the target, and nothing of it changes") {
    Timed timed_child(keep_registers);
    const auto before = read_maps_text(timed_child.pid());
    REQUIRE(timed_child.inject());
    const auto map = read_memory_map(timed_child.pid());
    REQUIRE(map);
    CHECK(timed_child.scratch().is_in(*map));
    for (const auto& mapping : map->mappings())
        if (timed_child.scratch().range().start <= mapping.start &&
            mapping.end <= timed_child.scratch().range().end)
            CHECK_FALSE((mapping.writable && mapping.executable));
    for (std::size_t i = 0; i < 128; ++i)
        timed_child.work().bytes[i] = static_cast<std::uint8_t>(3 * i + 1);
    for (int round = 0; round < 20; ++round) {
        auto stop = timed_child.target().stop();
        REQUIRE(need(stop).threads().size() == 1);
        auto session = LoadTimer::begin(stop->threads()[0], timed_child.scratch(), generous);
        need(session);
        for (std::uint64_t first = 0; first < 100; ++first) {
            const auto last = first + first % 28;
            auto timed =
                session->time(timed_child.bytes() + first, timed_child.bytes() + last, in_time());
            REQUIRE(need(timed));
            CHECK(std::to_integer<std::uint64_t>((*timed)->first) == (3 * first + 1) % 256);
            CHECK(std::to_integer<std::uint64_t>((*timed)->last) == (3 * last + 1) % 256);
            CHECK((*timed)->cycles > 0);
        }
        REQUIRE(session->finish());
    }
    CHECK(goes_on(timed_child.work()));
    CHECK(timed_child.work().wrong == 0);
    REQUIRE(timed_child.target().detach());
    CHECK(*read_maps_text(timed_child.pid()) == *before);
    CHECK(goes_on(timed_child.work()));
    CHECK(timed_child.work().wrong == 0);
}

TEST_CASE("a load that faults is told, and the target does not see it") {
    Timed timed_child([](Work& work) {
        std::signal(SIGSEGV, [](int) { _exit(9); });
        std::signal(SIGBUS, [](int) { _exit(9); });
        return keep_registers(work);
    });
    REQUIRE(timed_child.inject());
    {
        auto stop = timed_child.target().stop();
        auto session = LoadTimer::begin(need(stop).threads()[0], timed_child.scratch(), generous);
        need(session);
        for (const std::uint64_t bad : {0ull, 8ull, 0x7fff'ffff'f000ull, 1ull << 63}) {
            auto timed = session->time({bad}, {bad}, in_time());
            CHECK_FALSE(need(timed));
        }
        auto timed = session->time(timed_child.bytes(), timed_child.bytes(), in_time());
        CHECK(need(timed));
        auto last = session->time({8}, {8}, in_time());
        CHECK_FALSE(need(last));
    }
    CHECK(goes_on(timed_child.work()));
    CHECK(timed_child.work().wrong == 0);
}

TEST_CASE("a thread that nobody stops goes back by itself, with all registers") {
    Timed timed_child(keep_registers);
    REQUIRE(timed_child.inject());
    for (int round = 0; round < 3; ++round) {
        auto stop = timed_child.target().stop();
        auto session = LoadTimer::begin(need(stop).threads()[0], timed_child.scratch(), 2ms);
        need(session);
        // The thread is left alone, as if there were no tracer.
        CHECK(goes_on(timed_child.work()));
        auto late = session->time(timed_child.bytes(), timed_child.bytes(),
                                  std::chrono::steady_clock::now() + 1ms);
        CHECK_FALSE(late);
        REQUIRE(session->finish());
    }
    CHECK(goes_on(timed_child.work()));
    CHECK(timed_child.work().wrong == 0);
    const auto status = read_proc_status(timed_child.pid());
    REQUIRE(status);
    CHECK((status->blocked_signals & (1ull << (SIGUSR1 - 1))) == 0);
}

TEST_CASE("signals that come meanwhile are delivered afterwards, once") {
    static Work* counted;
    Timed timed_child([](Work& work) {
        counted = &work;
        for (const int signal : {SIGUSR1, SIGSEGV})
            std::signal(signal, [](int) { ++counted->signals; });
        return keep_registers(work);
    });
    REQUIRE(timed_child.inject());
    std::uint64_t sent = 0;
    for (const int signal : {SIGUSR1, SIGSEGV, SIGUSR1}) {
        {
            auto stop = timed_child.target().stop();
            auto session =
                LoadTimer::begin(need(stop).threads()[0], timed_child.scratch(), generous);
            need(session);
            REQUIRE(session->time(timed_child.bytes(), timed_child.bytes(), in_time()));
            REQUIRE(kill(timed_child.pid(), signal) == 0);
            std::this_thread::sleep_for(5ms);
            (void)session->time(timed_child.bytes(), timed_child.bytes(), in_time());
            CHECK(timed_child.work().signals == sent);
        }
        ++sent;
        CHECK(pump_until(timed_child.hub(), timed_child.target(),
                         [&] { return timed_child.work().signals == sent; }));
    }
    CHECK(timed_child.work().wrong == 0);
    CHECK(pump_until(timed_child.hub(), timed_child.target(),
                     [&, before = timed_child.work().rounds.load()] {
                         return timed_child.work().rounds > before + 2;
                     }));
    CHECK(timed_child.work().signals == sent);
}

TEST_CASE("a program that forbids itself executable memory is left alone") {
    constexpr int set_mdwe = 65;
    Timed timed_child([](Work& work) {
        if (prctl(set_mdwe, 1L, 0L, 0L, 0L) != 0) work.signals = 1;  // an older kernel
        return keep_registers(work);
    });
    if (timed_child.work().signals == 1) return;
    const auto before = read_maps_text(timed_child.pid());
    const auto refused = timed_child.inject();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::permission);
    CHECK(*read_maps_text(timed_child.pid()) == *before);
    CHECK(goes_on(timed_child.work()));
}

TEST_CASE("a child of the target does not have the scratch memory") {
    Timed timed_child([](Work& work) {
        while (true) {
            ++work.rounds;
            if (work.signals != 1) continue;
            work.signals = 2;
            if (fork() == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                work.wrong = static_cast<std::uint64_t>(getpid());
                while (true) pause();
            }
        }
        return 0;
    });
    REQUIRE(timed_child.inject());
    timed_child.work().signals = 1;
    REQUIRE(pump_until(timed_child.hub(), timed_child.target(),
                       [&] { return timed_child.work().wrong != 0; }));
    const auto child = read_memory_map(static_cast<pid_t>(timed_child.work().wrong));
    REQUIRE(child);
    CHECK(child->find(timed_child.scratch().code()) == nullptr);
}

}  // namespace shadowprof::load_timer_test
