#include "ptrace/replica/target_family.h"

#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files/fd.h"
#include "ptrace/proc/proc.h"
#include "ptrace/process/sleep_state.h"
#include "ptrace/replica/replica.h"
#include "ptrace/test_support.h"

namespace shadowprof::target_family_test {
using namespace std::chrono_literals;

namespace {

struct Facts {
    std::atomic<bool> go{false};
    std::atomic<bool> stop{false};
    std::atomic<pid_t> child{0};
    std::atomic<int> tracer{-1};
    std::atomic<std::uint64_t> ticks{0};
};

int own_tracer() {
    const auto status = read_proc_status(::getpid());
    return status ? status->tracer_pid : -1;
}

pid_t clone_process(std::uint64_t flags) {
    return static_cast<pid_t>(::syscall(SYS_clone, flags, 0, 0, 0, 0));
}

bool is_traced(pid_t pid) {
    const auto status = read_proc_status(pid);
    return status && status->tracer_pid != 0;
}

// Attaches to a child with its forks followed.
class Followed {
  public:
    Followed(WaitHub& hub, const std::function<int()>& body, Forks forks = Forks::follow)
        : hub_(hub), child_(hub, [&] {
              while (!facts_->go) ::usleep(100);
              return body();
          }) {
        auto target = Target::attach(hub, child_.pid(), forks);
        first_ = std::move(need(target));
        family_.emplace(hub, *first_);
        facts_->go = true;
    }
    ~Followed() {
        family_.reset();
        first_.reset();
    }

    Facts& facts() { return *facts_; }
    TargetFamily& family() { return *family_; }
    Target& first() { return *first_; }

    bool pump_until(const std::function<bool()>& condition) {
        return wait_until([&] {
            while (const auto event = hub_.poll()) family_->handle(*event);
            return condition();
        });
    }
    bool pump_to_end() {
        return pump_until([&] { return first_->end().has_value(); });
    }
    // Ends of all but the first, as exit codes or negative signals, in the order of their forks.
    std::vector<int> ends() {
        std::vector<int> ends;
        for (const auto& [number, member] : family_->members()) {
            if (number == 0) continue;
            const auto& end = member.target->end();
            ends.push_back(!end                                      ? 999
                           : end->kind() == WaitStatus::Kind::killed ? -end->signal()
                                                                     : end->exit_code());
        }
        return ends;
    }
    Target& last() { return *std::prev(family_->members().end())->second.target; }

  private:
    WaitHub& hub_;
    Shared<Facts> facts_;
    Child child_;
    std::unique_ptr<Target> first_;
    std::optional<TargetFamily> family_;
};

// How often a process with one thread has given up its processor voluntarily.
long switches_of(pid_t pid) {
    auto text = read_proc_text(fmt::format("/proc/{}/status", pid));
    constexpr std::string_view name = "\nvoluntary_ctxt_switches:";
    const auto at = need(text).find(name);
    REQUIRE(at != std::string::npos);
    return std::atol(text->c_str() + at + name.size());
}

int exit_code_of(pid_t pid) {
    int status = 0;
    if (::waitpid(pid, &status, __WALL) != pid) return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("children are followed however they are born, and their parents see them end") {
    TestHub hub;
    SUBCASE("fork") {
        Followed target(hub, [] {
            const pid_t pid = ::fork();
            if (pid == 0) ::_exit(own_tracer() > 0 ? 3 : 4);
            return exit_code_of(pid) + 20;
        });
        REQUIRE(target.pump_to_end());
        CHECK(target.ends() == std::vector{3});
        CHECK(target.first().end()->exit_code() == 23);
    }
    SUBCASE("clone without an exit signal") {
        Followed target(hub, [] {
            const pid_t pid = clone_process(0);
            if (pid == 0) ::_exit(own_tracer() > 0 ? 3 : 4);
            return exit_code_of(pid) + 20;
        });
        REQUIRE(target.pump_to_end());
        CHECK(target.ends() == std::vector{3});
        CHECK(target.first().end()->exit_code() == 23);
    }
    SUBCASE("a grandchild of a child that has ended") {
        Followed target(hub, [] {
            const pid_t pid = ::fork();
            if (pid == 0) ::_exit(::fork() == 0 ? 7 : 5);
            return exit_code_of(pid) + 20;
        });
        REQUIRE(target.pump_until([&] { return target.ends() == std::vector{5, 7}; }));
        REQUIRE(target.pump_to_end());
        CHECK(target.first().end()->exit_code() == 25);
    }
    SUBCASE("a child that is killed") {
        Followed target(hub, [] {
            const pid_t pid = ::fork();
            if (pid == 0) ::_exit(::pause());
            ::kill(pid, SIGTERM);
            return exit_code_of(pid) + 50;
        });
        REQUIRE(target.pump_to_end());
        CHECK(target.ends() == std::vector{-SIGTERM});
        CHECK(target.first().end()->exit_code() == 50 - SIGTERM);
    }
}

TEST_CASE("posix_spawn is followed, and shares its parent's memory only until its exec") {
    TestHub hub;
    Followed target(hub, [] {
        pid_t pid = 0;
        char name[] = "sh", option[] = "-c", script[] = "exit 6";
        char* const arguments[] = {name, option, script, nullptr};
        if (::posix_spawn(&pid, "/bin/sh", nullptr, nullptr, arguments, environ) != 0) return 99;
        return exit_code_of(pid) + 20;
    });
    bool shared = false, own_after_exec = false;
    REQUIRE(target.pump_until([&] {
        if (target.family().members().size() == 2) {
            const bool executed = target.last().exec_count() > 0;
            shared |= !executed && target.last().shares_memory();
            own_after_exec |= executed && !target.last().shares_memory();
        }
        return target.first().end().has_value();
    }));
    CHECK(own_after_exec);
    CHECK(target.ends() == std::vector{6});
    CHECK(target.first().end()->exit_code() == 26);
}

TEST_CASE("the parent of a vfork child can be stopped, and the child is known to share memory") {
    TestHub hub;
    Shared<Facts> facts;
    Followed target(hub, [&] {
        const pid_t pid = ::vfork();
        if (pid == 0) {
            facts->child = ::getpid();
            while (!facts->stop) ::usleep(100);
            ::_exit(5);
        }
        return exit_code_of(pid);
    });
    REQUIRE(target.pump_until([&] { return facts->child != 0; }));
    REQUIRE(target.pump_until([&] { return target.family().members().size() == 2; }));
    CHECK(target.last().shares_memory());
    {
        auto stop = target.first().stop();
        CHECK(need(stop).threads().empty());
    }
    facts->stop = true;
    REQUIRE(target.pump_to_end());
    CHECK(target.ends() == std::vector{5});
    CHECK(target.first().end()->exit_code() == 5);
}

TEST_CASE("a child with memory of its own is not taken for one that shares it, and vice versa") {
    TestHub hub;
    Shared<Facts> facts;
    std::uint64_t flags = SIGCHLD;
    SUBCASE("its own") {}
    SUBCASE("shared") {
        flags |= CLONE_VM;
    }
    Followed target(hub, [&] {
        // A child that shares memory needs a stack of its own.
        alignas(16) static std::byte stack[4096];
        const pid_t pid = static_cast<pid_t>(
            ::syscall(SYS_clone, flags, (flags & CLONE_VM) ? stack + sizeof stack - 64 : nullptr,
                      nullptr, nullptr, nullptr));
        if (pid == 0)
            for (;;) ::syscall(SYS_pause);
        facts->child = pid;
        return exit_code_of(pid) + 20;
    });
    REQUIRE(target.pump_until([&] { return facts->child != 0; }));
    REQUIRE(target.pump_until([&] { return target.family().members().size() == 2; }));
    CHECK(target.last().shares_memory() == ((flags & CLONE_VM) != 0));
    ::kill(facts->child, SIGKILL);
    REQUIRE(target.pump_to_end());
}

TEST_CASE("the first status of a child and its birth are taken in either order") {
    TestHub hub;
    bool child_first = false;
    SUBCASE("the parent's event comes first") {}
    SUBCASE("the child's stop comes first") {
        child_first = true;
    }
    Followed target(hub, [] {
        const pid_t pid = ::fork();
        if (pid == 0) ::_exit(3);
        return exit_code_of(pid) + 20;
    });
    std::optional<WaitEvent> birth, stop;
    REQUIRE(wait_until([&] {
        while (const auto event = hub.poll())
            (event->pid == target.first().pid() ? birth : stop) = *event;
        return birth && stop;
    }));
    CHECK(birth->status.is_event(PTRACE_EVENT_FORK));
    CHECK(target.family().handle(child_first ? *stop : *birth));
    CHECK(target.family().members().size() == 2);
    CHECK(target.family().handle(child_first ? *birth : *stop));
    CHECK(target.family().members().size() == 2);
    REQUIRE(target.pump_to_end());
    CHECK(target.ends() == std::vector{3});
    CHECK(target.first().end()->exit_code() == 23);
}

TEST_CASE("children of a target whose forks are let go are never traced") {
    TestHub hub;
    Followed target(
        hub,
        [] {
            const pid_t pid = ::fork();
            if (pid == 0) ::_exit(own_tracer());
            const pid_t other = ::vfork();
            if (other == 0) ::_exit(0);
            return exit_code_of(pid) + exit_code_of(other);
        },
        Forks::detach);
    REQUIRE(target.pump_to_end());
    CHECK(target.family().members().size() == 1);
    CHECK(target.first().end()->exit_code() == 0);
}

TEST_CASE("a thread that is born like a process is no process") {
    TestHub hub;
    Followed target(hub, [] {
        for (int i = 0; i < 20; ++i) std::thread([] {}).join();
        return 0;
    });
    REQUIRE(target.pump_to_end());
    CHECK(target.family().members().size() == 1);
}

TEST_CASE("replicas are not taken for children, and leave nothing to any process") {
    TestHub hub;
    Shared<Facts> facts;
    Followed target(hub, [&] {
        const pid_t pid = ::fork();
        if (pid == 0) {
            while (!facts->stop) ++facts->ticks;
            siginfo_t info;
            const bool has_child =
                ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
            ::_exit(has_child ? 1 : 0);
        }
        return exit_code_of(pid) + 20;
    });
    REQUIRE(target.pump_until([&] { return facts->ticks > 0; }));
    for (int i = 0; i < 5; ++i) {
        auto stop = target.last().stop();
        auto replica = Replica::fork(need(stop));
        need(replica);
        CHECK(read_proc_stat(replica->pid())->parent_pid == ::getpid());
        std::array<std::byte, 8> word;
        CHECK(::pread(replica->memory_fd(), word.data(), word.size(),
                      static_cast<off_t>(reinterpret_cast<std::uintptr_t>(&is_traced))) == 8);
    }
    CHECK(target.last().zombies()->empty());
    REQUIRE(target.pump_until([&] { return hub.discarded() == 0; }));
    CHECK(target.family().members().size() == 2);
    facts->stop = true;
    REQUIRE(target.pump_to_end());
    CHECK(target.ends() == std::vector{0});
    CHECK(target.first().end()->exit_code() == 20);
}

TEST_CASE(
    "a process whose orphans another one inherits gets no replica, and none of them sees one") {
    for (const bool is_parent : {true, false}) {
        CAPTURE(is_parent);
        TestHub hub;
        Shared<Facts> facts;
        Followed target(hub, [&] {
            if (is_parent) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
            const pid_t pid = ::fork();
            if (pid == 0) {
                if (!is_parent) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
                while (!facts->stop) ++facts->ticks;
                ::_exit(::waitpid(-1, nullptr, WNOHANG | __WALL) == -1 ? 0 : 1);
            }
            const int status = exit_code_of(pid);
            return ::waitpid(-1, nullptr, WNOHANG | __WALL) == -1 ? status + 20 : 1;
        });
        REQUIRE(target.pump_until([&] { return facts->ticks > 0; }));
        check_fork_is_refused(target.last(), "inherits orphans");
        facts->stop = true;
        REQUIRE(target.pump_to_end());
        CHECK(target.first().end()->exit_code() == 20);
    }
}

TEST_CASE("a parent that sleeps is woken up once, and then its children have replicas") {
    const UniqueFd wake(::eventfd(0, 0));
    TestHub hub;
    Shared<Facts> facts;
    Followed target(hub, [&] {
        const int waiting = ::epoll_create1(0);
        epoll_event event{.events = EPOLLIN, .data = {}};
        ::epoll_ctl(waiting, EPOLL_CTL_ADD, wake.get(), &event);
        std::array<pid_t, 2> children{};
        for (pid_t& child : children) {
            child = ::fork();
            if (child != 0) continue;
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            while (!facts->stop) ++facts->ticks;
            ::_exit(0);
        }
        ::epoll_wait(waiting, &event, 1, 60'000);
        return exit_code_of(children[0]) + exit_code_of(children[1]) + 20;
    });
    const pid_t parent = target.first().pid();
    REQUIRE(target.pump_until([&] {
        const auto call = read_sleeping_call(parent, parent);
        return target.family().members().size() == 3 && call && call->number == SYS_epoll_wait;
    }));
    std::vector<long> switches;
    for (const auto& [number, member] : target.family().members()) {
        if (number == 0) continue;
        auto stop = member.target->stop();
        auto replica = Replica::fork(need(stop));
        need(replica);
        switches.push_back(switches_of(parent));
    }
    CHECK(switches[0] == switches[1]);
    facts->stop = true;
    CHECK(::eventfd_write(wake.get(), 1) == 0);
    REQUIRE(target.pump_to_end());
    CHECK(target.first().end()->exit_code() == 20);
}

TEST_CASE("a family that is detached runs on untraced, with what it bears afterwards") {
    TestHub hub;
    Shared<Facts> facts;
    Followed target(hub, [&] {
        const pid_t pid = ::fork();
        if (pid == 0) {
            facts->child = ::getpid();
            while (!facts->stop) ++facts->ticks;
            const pid_t grandchild = ::fork();
            if (grandchild == 0) ::_exit(own_tracer());
            ::_exit(exit_code_of(grandchild));
        }
        return exit_code_of(pid) + 20;
    });
    REQUIRE(target.pump_until([&] { return facts->ticks > 0; }));
    const pid_t first = target.first().pid();
    CHECK(target.family().detach(Target::Sleepers::stop));
    CHECK(!is_traced(first));
    CHECK(!is_traced(facts->child));
    facts->stop = true;
    REQUIRE(target.pump_to_end());
    CHECK(target.first().end()->exit_code() == 20);
}

TEST_CASE("hundreds of children that end at once are all seen, and leave no descriptor open") {
    TestHub hub;
    const auto descriptors = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                             std::filesystem::directory_iterator());
    };
    constexpr int children = 500;
    Followed target(hub, [] {
        for (int i = 0; i < children; ++i) {
            const pid_t pid = ::fork();
            if (pid == 0) ::_exit(i % 100);
            if (exit_code_of(pid) != i % 100) return 1;
        }
        return 0;
    });
    const auto before = descriptors();
    REQUIRE(target.pump_to_end());
    CHECK(descriptors() == before);
    CHECK(target.first().end()->exit_code() == 0);
    const auto ends = target.ends();
    REQUIRE(ends.size() == children);
    for (int i = 0; i < children; ++i) CHECK(ends[static_cast<std::size_t>(i)] == i % 100);
}

}  // namespace shadowprof::target_family_test
