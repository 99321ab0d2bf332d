#include "shadow/exact/process/processor_timers.h"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>
#include <cstring>

namespace shadowprof::processor_timers_test {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::uint64_t nowhere = 0xffff'0000;

// A page at address 4096.
class Page final : public WritableMemory {
  public:
    bool read(GuestAddress from, std::span<std::byte> to) override {
        if (!has(from, to.size())) return false;
        std::memcpy(to.data(), bytes_.data() + (from.value - start), to.size());
        return true;
    }
    bool write(GuestAddress to, std::span<const std::byte> from) override {
        if (!has(to, from.size())) return false;
        std::memcpy(bytes_.data() + (to.value - start), from.data(), from.size());
        return true;
    }
    template <typename T>
    std::uint64_t put(const T& value) {
        REQUIRE(write({start}, std::as_bytes(std::span(&value, 1))));
        return start;
    }
    template <typename T>
    T get(std::uint64_t address) {
        const auto value = read_value<T>(*this, {address});
        REQUIRE(value);
        return *value;
    }
    // Where results can go.
    static constexpr std::uint64_t start = 4096, result = start + 256;

  private:
    static bool has(GuestAddress from, std::size_t size) {
        return from.value >= start && from.value + size <= start + 512;
    }
    std::array<std::byte, 512> bytes_ = {};
};

struct Scene {
    ProcessorTimers timers;
    Page page;

    std::optional<std::int64_t> call(std::int64_t number, CallArguments arguments,
                                     std::int64_t now_ns = 0) {
        return timers.call(number, arguments, page, now_ns);
    }
    std::optional<std::int64_t> set_interval(int kind, suseconds_t first_us, suseconds_t period_us,
                                             std::int64_t now_ns = 0) {
        const auto at = page.put(itimerval{{0, period_us}, {0, first_us}});
        return call(SYS_setitimer, {static_cast<std::uint64_t>(kind), at, Page::result}, now_ns);
    }
    // The kernel has made a timer with this id, which signals as `event` says.
    void create(std::int32_t id, std::optional<sigevent> event = {},
                clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
        const CallArguments arguments{static_cast<std::uint64_t>(clock),
                                      event ? page.put(*event) : 0, Page::result};
        CHECK(!call(SYS_timer_create, arguments));
        REQUIRE(page.write({Page::result}, std::as_bytes(std::span(&id, 1))));
        timers.note(SYS_timer_create, arguments, 0, page);
    }
    std::optional<std::int64_t> set_time(std::uint64_t id, std::int64_t first_ns,
                                         std::int64_t period_ns, std::uint64_t flags = 0,
                                         std::int64_t now_ns = 0) {
        const auto at = page.put(itimerspec{{0, period_ns}, {0, first_ns}});
        return call(SYS_timer_settime, {id, flags, at, Page::result}, now_ns);
    }
};

sigevent event_of(int notification, int signal, int value, pid_t thread = 0) {
    sigevent event = {};
    event.sigev_notify = notification;
    event.sigev_signo = signal;
    event.sigev_value.sival_int = value;
    event._sigev_un._tid = thread;
    return event;
}

}  // namespace

TEST_CASE("an interval timer signals again and again, and says how much time is left") {
    Scene scene;
    CHECK(scene.timers.deadline_ns() == ProcessorTimers::never_ns);
    REQUIRE(scene.set_interval(ITIMER_PROF, 3000, 10'000, 5 * ms) == 0);
    CHECK(scene.timers.deadline_ns() == 8 * ms);
    CHECK(scene.timers.take_due(8 * ms - 1).empty());

    const auto due = scene.timers.take_due(8 * ms);
    REQUIRE(due.size() == 1);
    CHECK(due[0].info.si_signo == SIGPROF);
    CHECK(due[0].info.si_code == SI_KERNEL);
    CHECK(due[0].thread == 0);
    CHECK(scene.timers.deadline_ns() == 18 * ms);
    // Several missed signals come as one.
    CHECK(scene.timers.take_due(41 * ms).size() == 1);
    CHECK(scene.timers.deadline_ns() == 48 * ms);

    REQUIRE(scene.call(SYS_getitimer, {ITIMER_PROF, Page::result}, 44 * ms) == 0);
    const auto left = scene.page.get<itimerval>(Page::result);
    CHECK(left.it_value.tv_usec == 4000);
    CHECK(left.it_interval.tv_usec == 10'000);
    REQUIRE(scene.set_interval(ITIMER_PROF, 0, 0, 46 * ms) == 0);
    CHECK(scene.page.get<itimerval>(Page::result).it_value.tv_usec == 2000);
    CHECK(scene.timers.deadline_ns() == ProcessorTimers::never_ns);
}

TEST_CASE("both interval timers run beside each other; one without a period signals once") {
    Scene scene;
    REQUIRE(scene.set_interval(ITIMER_VIRTUAL, 1000, 0) == 0);
    REQUIRE(scene.set_interval(ITIMER_PROF, 2000, 0) == 0);
    auto due = scene.timers.take_due(ms);
    REQUIRE(due.size() == 1);
    CHECK(due[0].info.si_signo == SIGVTALRM);
    due = scene.timers.take_due(9 * ms);
    REQUIRE(due.size() == 1);
    CHECK(due[0].info.si_signo == SIGPROF);
    CHECK(scene.timers.take_due(99 * ms).empty());
}

TEST_CASE("a created timer signals with its value, its id and what was missed") {
    Scene scene;
    constexpr std::uint64_t id = 3;
    scene.create(id, event_of(SIGEV_THREAD_ID, SIGUSR2, 42, 4711));
    REQUIRE(scene.set_time(id, 2 * ms, 5 * ms, 0, 10 * ms) == 0);
    const auto due = scene.timers.take_due(23 * ms);
    REQUIRE(due.size() == 1);
    CHECK(due[0].thread == 4711);
    CHECK(due[0].info.si_signo == SIGUSR2);
    CHECK(due[0].info.si_code == SI_TIMER);
    CHECK(due[0].info.si_value.sival_int == 42);
    CHECK(due[0].info.si_timerid == static_cast<int>(id));
    CHECK(due[0].info.si_overrun == 2);
    CHECK(scene.call(SYS_timer_getoverrun, {id}) == 2);
    CHECK(scene.timers.deadline_ns() == 27 * ms);

    // At a time of the clock, not from now on.
    REQUIRE(scene.set_time(id, 30 * ms, 0, TIMER_ABSTIME, 24 * ms) == 0);
    CHECK(scene.page.get<itimerspec>(Page::result).it_value.tv_nsec == 3 * ms);
    CHECK(scene.timers.deadline_ns() == 30 * ms);
    CHECK(!scene.call(SYS_timer_delete, {id}));
    scene.timers.note(SYS_timer_delete, {id}, 0, scene.page);
    CHECK(scene.timers.deadline_ns() == ProcessorTimers::never_ns);
    CHECK(!scene.call(SYS_timer_gettime, {id, Page::result}));
}

TEST_CASE("without an event a timer sends SIGALRM with its id; one may send nothing") {
    Scene scene;
    scene.create(5, {}, CLOCK_THREAD_CPUTIME_ID);
    REQUIRE(scene.set_time(5, ms, 0) == 0);
    const auto due = scene.timers.take_due(ms);
    REQUIRE(due.size() == 1);
    CHECK(due[0].info.si_signo == SIGALRM);
    CHECK(due[0].info.si_value.sival_int == 5);

    scene.create(6, event_of(SIGEV_NONE, 0, 0));
    REQUIRE(scene.set_time(6, ms, 0) == 0);
    REQUIRE(scene.call(SYS_timer_gettime, {6, Page::result}, ms / 2) == 0);
    CHECK(scene.page.get<itimerspec>(Page::result).it_value.tv_nsec == ms / 2);
    REQUIRE(scene.call(SYS_timer_gettime, {6, Page::result}, 2 * ms) == 0);
    CHECK(scene.page.get<itimerspec>(Page::result).it_value.tv_nsec == 0);
    CHECK(scene.timers.deadline_ns() == ProcessorTimers::never_ns);
    CHECK(scene.timers.take_due(2 * ms).empty());
}

TEST_CASE("timers signal at most every millisecond") {
    Scene scene;
    REQUIRE(scene.set_interval(ITIMER_PROF, 1, 1) == 0);
    CHECK(scene.timers.take_due(5 * ms).size() == 1);
    CHECK(scene.timers.deadline_ns() == 5 * ms + ProcessorTimers::least_period_ns);
}

TEST_CASE("another program has the interval timers alone") {
    Scene scene;
    scene.create(0, event_of(SIGEV_SIGNAL, SIGUSR1, 0));
    REQUIRE(scene.set_time(0, ms, 0) == 0);
    REQUIRE(scene.set_interval(ITIMER_PROF, 5000, 0) == 0);
    scene.timers.begin_program();
    CHECK(scene.timers.deadline_ns() == 5 * ms);
}

TEST_CASE("calls about other timers are the kernel's, and wrong ones fail as there") {
    Scene scene;
    CHECK(!scene.set_interval(ITIMER_REAL, 1, 1));
    scene.create(3, {}, CLOCK_MONOTONIC);
    CHECK(!scene.call(SYS_timer_settime, {3, 0, Page::start, 0}));
    CHECK(!scene.call(SYS_getpid, {}));

    CHECK(scene.set_interval(ITIMER_PROF, 1'000'000, 0) == -EINVAL);
    CHECK(scene.call(SYS_setitimer, {ITIMER_PROF, nowhere, 0}) == -EFAULT);
    CHECK(scene.call(SYS_getitimer, {ITIMER_PROF, nowhere}) == -EFAULT);
    scene.create(4, event_of(SIGEV_SIGNAL, SIGUSR1, 0));
    CHECK(scene.set_time(4, 1'000 * ms, 0) == -EINVAL);
    CHECK(scene.call(SYS_timer_settime, {4, 0, 0, 0}) == -EINVAL);
    CHECK(scene.call(SYS_timer_settime, {4, 0, nowhere, 0}) == -EFAULT);
}

TEST_CASE("the kernel's timers can be armed as these are") {
    Scene scene;
    CHECK(scene.timers.arming_calls().empty());
    scene.create(2, event_of(SIGEV_SIGNAL, SIGUSR1, 0));
    REQUIRE(scene.set_time(2, 3 * ms, 7 * ms) == 0);
    REQUIRE(scene.set_interval(ITIMER_PROF, 5000, 10'000) == 0);
    CHECK(!scene.call(SYS_getpid, {}, ms));  // time passes
    const auto calls = scene.timers.arming_calls();
    REQUIRE(calls.size() == 2);
    CHECK(calls[0].number == SYS_setitimer);
    CHECK(calls[0].timer == ITIMER_PROF);
    CHECK(calls[0].times == std::array<std::int64_t, 4>{0, 10'000, 0, 4000});
    CHECK(calls[1].number == SYS_timer_settime);
    CHECK(calls[1].timer == 2);
    CHECK(calls[1].times == std::array<std::int64_t, 4>{0, 7 * ms, 0, 2 * ms});
}

}  // namespace shadowprof::processor_timers_test
