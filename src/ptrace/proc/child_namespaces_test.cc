#include "ptrace/proc/child_namespaces.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>

#include "ptrace/replica/replica.h"
#include "ptrace/test_support.h"

namespace shadowprof::child_namespaces_test {
namespace {

#ifndef CLONE_NEWTIME
constexpr int CLONE_NEWTIME = 0x80;
#endif

struct Facts {
    std::atomic<std::uint64_t> ticks{0};
    std::atomic<bool> stop{false};
};

// Works with and without privileges.
bool unshare_for_children(int kind) {
    return ::unshare(kind) == 0 || ::unshare(kind | CLONE_NEWUSER) == 0;
}

constexpr int status_refused = 77;

// Runs `body` as the first process of a PID namespace, whose id becomes `first`. Returns its exit
// status.
int run_first_process(std::atomic<pid_t>& first, const std::function<int()>& body) {
    if (!unshare_for_children(CLONE_NEWPID)) return status_refused;
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // even if the test fails
        ::_exit(body());
    }
    first = pid;
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

// The child's exit status says whether it is process 1.
int bear_first_process(Facts& facts, int kind) {
    if (!unshare_for_children(kind)) return status_refused;
    while (!facts.stop) ++facts.ticks;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::getpid() == 1 ? 1 : 2);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return 3;
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("no replica is forked where it would be the first process of a namespace") {
    struct Row {
        int kind;
        int expected_status;
    };
    for (const Row row : {Row{CLONE_NEWPID, 1}, Row{CLONE_NEWTIME, 2}}) {
        const int kind = row.kind;
        CAPTURE(kind);
        Shared<Facts> facts;
        TestHub hub;
        Child child(hub, [&] { return bear_first_process(*facts, kind); });
        auto target = Target::attach(hub, child.pid());
        need(target);
        REQUIRE(pump_until(hub, **target, [&] { return facts->ticks > 0 || (*target)->end(); }));
        if ((*target)->end()) {
            CHECK((*target)->end()->exit_code() == status_refused);
            MESSAGE("skipped: namespaces are refused here");
            continue;
        }
        check_fork_is_refused(**target, "in another");
        facts->stop = true;
        CHECK(exit_code_at_end(hub, **target) == row.expected_status);
    }
}

TEST_CASE("a fork server that was there before a namespace was prepared goes on to fork") {
    Shared<Facts> facts;
    TestHub hub;
    Shared<std::atomic<bool>> go;
    Child child(hub, [&] {
        while (!*go) ++facts->ticks;
        return bear_first_process(*facts, CLONE_NEWPID);
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    const auto fork_one = [&] {
        auto stop = (*target)->stop();
        return stop && Replica::fork(*stop);
    };
    REQUIRE(pump_until(hub, **target, [&] { return facts->ticks > 0; }));
    CHECK(fork_one());
    *go = true;
    const auto ticks = facts->ticks.load();
    REQUIRE(pump_until(hub, **target,
                       [&] { return facts->ticks > ticks + 1'000'000 || (*target)->end(); }));
    if ((*target)->end()) return;
    for (int i = 0; i < 5; ++i) CHECK(fork_one());
    facts->stop = true;
    CHECK(exit_code_at_end(hub, **target) == 1);
}

TEST_CASE("a process of another PID namespace gets no replica") {
    Shared<Facts> facts;
    TestHub hub;
    Shared<std::atomic<pid_t>> first_process;
    Child child(hub, [&] {
        return run_first_process(*first_process, [&] {
            while (!facts->stop) ++facts->ticks;
            // This would find children that the process did not create.
            return ::waitpid(-1, nullptr, WNOHANG | __WALL) == -1 ? 0 : 1;
        });
    });
    REQUIRE(wait_until([&] {
        return (facts->ticks > 0 && *first_process > 0) ||
               read_thread_state(child.pid(), child.pid()).value_or('Z') == 'Z';
    }));
    if (*first_process <= 0) return;
    CHECK(!shares_our_pid_namespace(*first_process));
    CHECK(shares_our_pid_namespace(::getpid()));
    {
        auto target = Target::attach(hub, *first_process);
        check_fork_is_refused(*need(target), "PID namespace");
    }
    facts->stop = true;
    auto status = hub.reap(child.pid());
    CHECK(need(status).exit_code() == 0);
}

TEST_CASE("a first process that waits for the ends of the others does not hold up a stop") {
    struct Processes {
        std::atomic<pid_t> first{0}, second{0};
        std::atomic<bool> stop{false};
    };
    Shared<Processes> processes;
    TestHub hub;
    Child child(hub, [&] {
        return run_first_process(processes->first, [&] {
            if (::fork() == 0) {
                // /proc is that of the outer namespace.
                std::array<char, 32> name{};
                if (::readlink("/proc/self", name.data(), name.size() - 1) < 0) ::_exit(4);
                processes->second = std::atoi(name.data());
                while (true) ::pause();
            }
            while (!processes->stop) ::usleep(100);
            return 3;
        });
    });
    REQUIRE(wait_until([&] {
        return (processes->first > 0 && processes->second > 0) ||
               read_thread_state(child.pid(), child.pid()).value_or('Z') == 'Z';
    }));
    if (processes->second <= 0) return;
    const pid_t pid = processes->first;
    auto first = Target::attach(hub, pid);
    auto second = Target::attach(hub, processes->second);
    need(first);
    need(second);
    // Handles nothing of the other one, whose end would be lost.
    const auto pump_alone = [&](Target& target, const std::function<bool()>& condition) {
        return wait_until(condition, [&] {
            const auto status = hub.wait_for(target.pid(), WaitHub::Duration{0});
            if (status && *status) target.handle({target.pid(), **status});
        });
    };
    processes->stop = true;
    // The second one has been killed, and is a zombie until its tracer takes its end.
    REQUIRE(pump_alone(**first, [&] {
        const auto stat = read_proc_stat(pid);
        return stat && stat->is_exiting && stat->state == 'S';
    }));
    {
        auto stop = (*first)->stop();
        CHECK(need(stop).threads().empty());
    }
    REQUIRE(pump_alone(**second, [&] { return (*second)->end().has_value(); }));
    CHECK(exit_code_at_end(hub, **first) == 3);
}

}  // namespace shadowprof::child_namespaces_test
