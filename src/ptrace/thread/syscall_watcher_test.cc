#include "ptrace/thread/syscall_watcher.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "ptrace/process/target.h"
#include "ptrace/test_support.h"
#include "ptrace/thread/syscall_stop.h"

namespace shadowprof::syscall_watcher_test {
namespace {

struct Facts {
    std::atomic<std::uint64_t> rounds{0};
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<std::uint64_t> signals{0};
    std::atomic<bool> go{false}, stop{false};
};

// Records what it sees of all threads.
class Watcher : public SyscallWatcher {
  public:
    bool watches(pid_t) const override { return on; }
    void on_syscall_stop(const StoppedThread& thread) override {
        const auto stop = read_syscall_stop(thread);
        if (!stop) return void(++unreadable);
        ++(stop->is_entry ? entries : exits);
        if (last_was_entry && stop->is_entry) ++unpaired;
        last_was_entry = stop->is_entry;
        (stop->is_entry ? last_entry : last_exit) = *stop;
        if (stop->is_entry) numbers.push_back(stop->number);
        if (!stop->is_entry && stop->restarts()) ++restarts;
    }
    void on_signal(pid_t, int signal) override { signals.push_back(signal); }
    void on_thread_end(pid_t) override { ++ends; }

    bool on = true, last_was_entry = false;
    std::uint64_t entries = 0, exits = 0, unpaired = 0, unreadable = 0, restarts = 0, ends = 0;
    std::vector<std::uint64_t> numbers;
    std::vector<int> signals;
    SyscallStop last_entry, last_exit;
};

// From here on all threads are watched. Sleeping threads are stopped too, because a thread that is
// waking up counts as sleeping.
void stop_once(Target& target) {
    const auto stop = target.stop(Target::Sleepers::stop);
    REQUIRE(stop);
}

}  // namespace

TEST_CASE("a watched thread stops at entry and exit of each call, and its calls are as without") {
    Shared<Facts> shared;
    TestHub hub;
    Child child(hub, [&] {
        for (; !shared->stop; ++shared->rounds)
            if (::syscall(SYS_lseek, -1, shared->rounds.load(), 77) != -1 || errno != EBADF)
                ++shared->wrong;
        return 3;
    });
    Watcher watcher;
    auto target = Target::attach(hub, child.pid());
    need(target);
    (*target)->watch_syscalls(&watcher);
    REQUIRE(pump_until(hub, **target, [&] { return shared->rounds > 100; }));
    CHECK(watcher.entries == 0);  // the thread has not been resumed since
    stop_once(**target);
    REQUIRE(pump_until(hub, **target, [&] { return watcher.exits > 1000; }));
    CHECK(watcher.unreadable == 0);
    CHECK(watcher.unpaired == 0);
    CHECK(watcher.numbers.back() == SYS_lseek);
    watcher.on = false;
    const auto seen = watcher.entries + watcher.exits, round = shared->rounds.load();
    REQUIRE(pump_until(hub, **target, [&] { return shared->rounds > round + 10'000; }));
    CHECK(watcher.entries + watcher.exits <= seen + 1);
    shared->stop = true;
    (*target)->watch_syscalls(nullptr);
    REQUIRE(pump_to_end(hub, **target));
    CHECK((*target)->end()->exit_code() == 3);
    CHECK(shared->wrong == 0);
}

TEST_CASE("what a call was asked and what it answered is read at its stops") {
    Shared<Facts> shared;
    TestHub hub;
    Child child(hub, [&] {
        while (!shared->stop) ::syscall(SYS_lseek, -1, 0x123456789abcull, 77);
        return 0;
    });
    Watcher watcher;
    auto target = Target::attach(hub, child.pid());
    need(target);
    (*target)->watch_syscalls(&watcher);
    stop_once(**target);
    // The first entry and exit may be of a call that the child began before.
    REQUIRE(pump_until(hub, **target, [&] { return watcher.entries > 1 && watcher.exits > 1; }));
    CHECK(watcher.last_entry.number == SYS_lseek);
    CHECK(watcher.last_entry.arguments[1] == 0x123456789abcull);
    CHECK(watcher.last_entry.arguments[2] == 77);
    CHECK(watcher.last_entry.stack.value != 0);
    CHECK(watcher.last_exit.result == -EBADF);
}

TEST_CASE("no stop interrupts a call of a watched thread, whatever it waits for") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    enum { read_call, poll_call, poll_with_time_out, epoll_call };
    for (const int kind : {read_call, poll_call, poll_with_time_out, epoll_call}) {
        CAPTURE(kind);
        Shared<Facts> shared;
        TestHub hub;
        Child child(hub, [&] {
            const int epoll = ::epoll_create1(0);
            epoll_event event{.events = EPOLLIN, .data = {}};
            ::epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
            while (!shared->go) {
            }
            while (!shared->stop) {
                pollfd entry{ends[0], POLLIN, 0};
                char byte = 0;
                bool right = true;
                if (kind == poll_call) right = ::poll(&entry, 1, -1) == 1;
                if (kind == poll_with_time_out) right = ::poll(&entry, 1, 100'000) == 1;
                if (kind == epoll_call) right = ::epoll_wait(epoll, &event, 1, -1) == 1;
                right = right && ::read(ends[0], &byte, 1) == 1 && byte == 'x';
                shared->wrong += !right;
                ++shared->rounds;
            }
            return 0;
        });
        Watcher watcher;
        auto target = Target::attach(hub, child.pid());
        need(target);
        (*target)->watch_syscalls(&watcher);
        stop_once(**target);
        shared->go = true;
        constexpr int all_rounds = 50;
        for (int round = 0; round < all_rounds; ++round) {
            // The call is interrupted while it waits, and right after its wait has ended.
            const auto rounds = shared->rounds.load();
            if (round % 2 == 0)
                REQUIRE(pump_until(hub, **target, [&] { return is_asleep(child.pid()); }));
            if (round % 2 == 1) REQUIRE(::write(ends[1], "x", 1) == 1);
            {
                auto stop = (*target)->stop();
                need(stop);
            }
            if (round % 2 == 0) REQUIRE(::write(ends[1], "x", 1) == 1);
            REQUIRE(pump_until(hub, **target, [&] { return shared->rounds > rounds; }));
        }
        CHECK(shared->wrong == 0);
        CHECK(watcher.entries >= all_rounds);
        if (kind == read_call) CHECK(watcher.restarts >= all_rounds / 2);
        REQUIRE((*target)->detach());
    }
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("signals reach a watched thread, each once") {
    static Shared<Facts> shared;
    TestHub hub;
    Child child(hub, [&] {
        ::signal(SIGUSR1, [](int) { ++shared->signals; });
        for (; !shared->stop; ++shared->rounds) ::getppid();
        return 0;
    });
    REQUIRE(wait_until([&] { return shared->rounds > 0; }));
    Watcher watcher;
    auto target = Target::attach(hub, child.pid());
    need(target);
    (*target)->watch_syscalls(&watcher);
    stop_once(**target);
    for (std::uint64_t sent = 1; sent <= 200; ++sent) {
        ::kill(child.pid(), SIGUSR1);
        REQUIRE(pump_until(hub, **target, [&] { return shared->signals == sent; }));
    }
    CHECK(watcher.signals == std::vector<int>(200, SIGUSR1));
    CHECK(watcher.entries > 0);
    shared->stop = true;
    REQUIRE(pump_to_end(hub, **target));
    CHECK(watcher.ends == 1);
}

TEST_CASE("a watcher hears of a new program and sees its calls") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    TestHub hub;
    Child child(hub, [&] {
        char byte = 0;
        if (::read(ends[0], &byte, 1) != 1) return 1;
        ::execl("/bin/true", "true", nullptr);
        return 2;
    });
    Watcher watcher;
    auto target = Target::attach(hub, child.pid());
    need(target);
    (*target)->watch_syscalls(&watcher);
    stop_once(**target);
    REQUIRE(::write(ends[1], "x", 1) == 1);
    REQUIRE(pump_to_end(hub, **target));
    CHECK((*target)->end()->exit_code() == 0);
    CHECK(watcher.ends == 2);  // one for the old program, one for the new one
    CHECK(watcher.numbers.back() == SYS_exit_group);
    ::close(ends[0]);
    ::close(ends[1]);
}

}  // namespace shadowprof::syscall_watcher_test
