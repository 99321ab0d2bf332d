#include "ptrace/process/sleep_state.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <filesystem>
#include <string>

#include "ptrace/test_support.h"

namespace shadowprof::sleep_state_test {
namespace {

// State that sleepers share with those who wake them.
struct Scene {
    std::atomic<std::uint32_t> word{0};
    int event = ::eventfd(0, EFD_CLOEXEC);
    int queue = ::msgget(IPC_PRIVATE, 0600);
    char directory[32] = "/tmp/sleepers-XXXXXX";
    std::atomic<bool> awake{false};
    std::atomic<bool> as_expected{false};

    Scene() { REQUIRE(::mkdtemp(directory) != nullptr); }
    void clear() const {
        ::close(event);
        ::msgctl(queue, IPC_RMID, nullptr);
        std::filesystem::remove_all(directory);
    }
    std::string path(const char* name) const { return std::string(directory) + "/" + name; }
};

// Removes what Shared<Scene> leaves behind.
struct SceneEnd {
    const Scene& scene;
    ~SceneEnd() { scene.clear(); }
};

struct Message {
    long kind = 1;
    char text = 'x';
};

// A call that sleeps until `wake`. `sleep` returns whether its result is then right.
struct SleeperRow {
    const char* name;
    bool (*sleep)(Scene&);
    void (*wake)(Scene&, pid_t sleeper);
};

void write_event(Scene& scene, pid_t) {
    ::eventfd_write(scene.event, 7);
}

void let_go_of_lock(Scene& scene, pid_t) {
    scene.word = 1;
}

void send_signal(Scene&, pid_t sleeper) {
    ::kill(sleeper, SIGUSR1);
}

// Starts a child that holds a lock of `kind` until the word is set.
pid_t start_holder(Scene& scene, bool (*lock)(int fd, bool wait)) {
    const int fd = ::open(scene.path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const pid_t holder = ::fork();
    if (holder == 0) {
        if (!lock(::open(scene.path("lock").c_str(), O_RDWR | O_CLOEXEC), true)) ::_exit(1);
        scene.awake = true;
        while (scene.word == 0) ::usleep(100);
        ::_exit(0);
    }
    while (!scene.awake) ::usleep(100);
    scene.awake = false;
    ::close(fd);
    return holder;
}

bool lock_flock(int fd, bool) {
    return ::flock(fd, LOCK_EX) == 0;
}

bool lock_record(int fd, bool) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    return ::fcntl(fd, F_SETLKW, &whole) == 0;
}

template <bool (*lock)(int, bool)>
bool sleep_for_lock(Scene& scene) {
    const pid_t holder = start_holder(scene, lock);
    const int fd = ::open(scene.path("lock").c_str(), O_RDWR | O_CLOEXEC);
    scene.as_expected = true;
    const bool locked = lock(fd, true);
    int status = 0;
    return locked && ::waitpid(holder, &status, 0) == holder && status == 0;
}

template <typename Wait>
bool sleep_for_child(Scene& scene, const Wait& wait) {
    const pid_t child = ::fork();
    if (child == 0) {
        while (scene.word == 0) ::usleep(100);
        ::_exit(5);
    }
    scene.as_expected = true;
    return wait(child);
}

template <typename Wait>
bool sleep_for_signal(Scene& scene, const Wait& wait) {
    static std::atomic<int> handled;
    handled = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { ++handled; };
    ::sigaction(SIGUSR1, &action, nullptr);
    scene.as_expected = true;
    return wait() == -1 && errno == EINTR && handled == 1;
}

constexpr timespec long_time{1000, 0};

constexpr SleeperRow sleepers[] = {
    {"futex",
     [](Scene& scene) {
         scene.as_expected = true;
         return ::syscall(SYS_futex, &scene.word, FUTEX_WAIT, 0, nullptr) == 0;
     },
     [](Scene& scene, pid_t) {
         // The word stays unchanged, so a sleeper that was stopped for a moment waits again, and
         // the next FUTEX_WAKE wakes it.
         while (!scene.awake) {
             ::syscall(SYS_futex, &scene.word, FUTEX_WAKE, 1);
             ::usleep(1000);
         }
     }},
    {"poll",
     [](Scene& scene) {
         pollfd waiting{scene.event, POLLIN, 0};
         scene.as_expected = true;
         return ::syscall(SYS_poll, &waiting, 1, 1'000'000) == 1 && waiting.revents == POLLIN;
     },
     write_event},
    {"ppoll without time-out",
     [](Scene& scene) {
         pollfd waiting{scene.event, POLLIN, 0};
         scene.as_expected = true;
         return ::ppoll(&waiting, 1, nullptr, nullptr) == 1 && waiting.revents == POLLIN;
     },
     write_event},
    {"select without time-out",
     [](Scene& scene) {
         fd_set set;
         FD_ZERO(&set);
         FD_SET(scene.event, &set);
         scene.as_expected = true;
         return ::select(scene.event + 1, &set, nullptr, nullptr, nullptr) == 1;
     },
     write_event},
    {"read of an eventfd",
     [](Scene& scene) {
         std::uint64_t value = 0;
         scene.as_expected = true;
         return ::read(scene.event, &value, sizeof value) == sizeof value && value == 7;
     },
     write_event},
    {"opening a FIFO",
     [](Scene& scene) {
         ::mkfifo(scene.path("fifo").c_str(), 0600);
         scene.as_expected = true;
         return ::open(scene.path("fifo").c_str(), O_RDONLY | O_CLOEXEC) >= 0;
     },
     [](Scene& scene, pid_t) {
         const int fd = ::open(scene.path("fifo").c_str(), O_WRONLY | O_CLOEXEC);
         while (!scene.awake) ::usleep(1000);
         ::close(fd);
     }},
    {"msgrcv",
     [](Scene& scene) {
         Message message{0, 'y'};
         scene.as_expected = true;
         return ::msgrcv(scene.queue, &message, 1, 0, 0) == 1 && message.text == 'x';
     },
     [](Scene& scene, pid_t) {
         const Message message;
         ::msgsnd(scene.queue, &message, 1, 0);
     }},
    {"flock", sleep_for_lock<lock_flock>, let_go_of_lock},
    {"fcntl", sleep_for_lock<lock_record>, let_go_of_lock},
    {"wait4",
     [](Scene& scene) {
         return sleep_for_child(scene, [](pid_t child) {
             int status = 0;
             return ::waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5;
         });
     },
     let_go_of_lock},
    {"waitid",
     [](Scene& scene) {
         return sleep_for_child(scene, [](pid_t child) {
             siginfo_t info{};
             return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED) == 0 &&
                    info.si_status == 5;
         });
     },
     let_go_of_lock},
    {"pause", [](Scene& scene) { return sleep_for_signal(scene, [] { return ::pause(); }); },
     send_signal},
    {"rt_sigsuspend",
     [](Scene& scene) {
         sigset_t none;
         sigemptyset(&none);
         return sleep_for_signal(scene, [&] { return ::sigsuspend(&none); });
     },
     send_signal},
    {"nanosleep without rest",
     [](Scene& scene) {
         return sleep_for_signal(
             scene, [] { return static_cast<int>(::syscall(SYS_nanosleep, &long_time, nullptr)); });
     },
     send_signal},
};

SleepingCall call_of(std::uint64_t number, std::array<std::uint64_t, 6> arguments = {}) {
    return {number, arguments};
}

}  // namespace

TEST_CASE("a stop of a sleeper whose stop is said to be invisible changes nothing of its call") {
    for (const auto& row : sleepers) {
        CAPTURE(row.name);
        Shared<Scene> scene;
        const SceneEnd end{*scene};
        TestHub hub;
        Child child(hub, [&] {
            const bool good = row.sleep(*scene);
            scene->awake = true;
            return good ? 0 : 1;
        });
        auto target = Target::attach(hub, child.pid());
        need(target);
        REQUIRE(pump_until(hub, **target,
                           [&] { return scene->as_expected && is_asleep(child.pid()); }));
        for (int i = 0; i < 5; ++i) {
            {
                auto stop = (*target)->stop(Target::Sleepers::leave_alone);
                const bool is_futex = std::string_view(row.name) == "futex";
                CHECK(need(stop).threads().empty() == !is_futex);
            }
            {
                auto stop = (*target)->stop(Target::Sleepers::stop_unseen);
                CHECK(need(stop).threads().size() == 1);
            }
            REQUIRE(pump_until(hub, **target, [&] { return is_asleep(child.pid()); }));
        }
        std::thread waker([&] { row.wake(*scene, child.pid()); });
        const bool ended = pump_to_end(hub, **target);
        waker.join();
        REQUIRE(ended);
        CHECK((*target)->end()->exit_code() == 0);
    }
}

TEST_CASE("a thread that waits for a futex is left asleep once it is known to wake up seldom") {
    const auto own = read_thread_runs(::getpid(), ::gettid());
    if (!own || own->runs == 0) return;  // the kernel does not count
    Shared<Scene> scene;
    const SceneEnd end{*scene};
    TestHub hub;
    Child child(hub, [&] {
        ::syscall(SYS_futex, &scene->word, FUTEX_WAIT, 0, nullptr);
        return 0;
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] { return is_asleep(child.pid()); }));
    CHECK(pump_until(hub, **target, [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        auto stop = (*target)->stop(Target::Sleepers::leave_rarely_woken);
        return need(stop).threads().empty();
    }));
    auto stop = (*target)->stop(Target::Sleepers::leave_alone);
    CHECK(need(stop).threads().size() == 1);
}

TEST_CASE("a nanosleep that wants to know the rest is not stopped, and its rest stays as it was") {
    Shared<Scene> scene;
    const SceneEnd end{*scene};
    TestHub hub;
    Child child(hub, [&] {
        timespec rest{77, 77};
        const timespec time{0, 300'000'000};
        scene->awake = true;
        const bool slept = ::syscall(SYS_nanosleep, &time, &rest) == 0;
        return slept && rest.tv_sec == 77 && rest.tv_nsec == 77 ? 0 : 1;
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] {
        return (*target)->end() || (scene->awake && is_asleep(child.pid()));
    }));
    for (int i = 0; i < 20 && !(*target)->end(); ++i) {
        auto stop = (*target)->stop();
        if (stop) CHECK(stop->threads().empty());
    }
    REQUIRE(pump_to_end(hub, **target));
    CHECK((*target)->end()->exit_code() == 0);
}

TEST_CASE("a select whose time-out cannot be written to does not fail for a stop") {
    static const timespec time{0, 200'000'000};
    TestHub hub;
    Shared<Scene> scene;
    const SceneEnd end{*scene};
    Child child(hub, [&] {
        scene->awake = true;
        return ::syscall(SYS_pselect6, 0, nullptr, nullptr, nullptr, &time, nullptr) == 0 ? 0 : 1;
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] {
        return (*target)->end() || (scene->awake && is_asleep(child.pid()));
    }));
    for (int i = 0; i < 3 && !(*target)->end(); ++i)
        static_cast<void>((*target)->stop(Target::Sleepers::stop));
    REQUIRE(pump_to_end(hub, **target));
    CHECK((*target)->end()->exit_code() == 0);
}

TEST_CASE("calls are recognised in /proc's text") {
    const auto thread =
        SleepingThread::parse("232 0x4 0x7ffe 0x1 0xffffffff 0x0 0x8 0x7ffe 0x7f00\n");
    REQUIRE(thread);
    CHECK(thread->call.number == SYS_epoll_wait);
    CHECK(thread->call.arguments == std::array<std::uint64_t, 6>{4, 0x7ffe, 1, 0xffffffff, 0, 8});
    CHECK(thread->stack_pointer == GuestAddress{0x7ffe});
    CHECK(thread->program_counter == GuestAddress{0x7f00});
    for (const char* other : {"running\n", "-1 0x7ffe 0x7f00\n", "", "1", "1 0x", "1 0x2 3"})
        CHECK(!SleepingThread::parse(other));
}

TEST_CASE("what is not known not to notice a stop is taken to notice it") {
    const pid_t self = ::getpid();
    CHECK(is_stop_visible(self, call_of(SYS_epoll_wait)));
    CHECK(is_stop_visible(self, call_of(SYS_write)));
    CHECK(is_stop_visible(self, call_of(0xffff)));
    CHECK(is_stop_visible(self, call_of(SYS_nanosleep, {8, 8})));
    CHECK(!is_stop_visible(self, call_of(SYS_nanosleep, {8, 0})));
    CHECK(is_stop_visible(self, call_of(SYS_clock_nanosleep, {0, 0, 8, 8})));
    CHECK(!is_stop_visible(self, call_of(SYS_clock_nanosleep, {0, TIMER_ABSTIME, 8, 8})));
    CHECK(is_stop_visible(self, call_of(SYS_ppoll, {8, 1, 8})));
    CHECK(is_stop_visible(self, call_of(SYS_futex, {8, FUTEX_WAIT_REQUEUE_PI})));
    CHECK(!is_stop_visible(self, call_of(SYS_futex, {8, FUTEX_WAIT | FUTEX_PRIVATE_FLAG})));
}

}  // namespace shadowprof::sleep_state_test
