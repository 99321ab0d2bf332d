// Targets that are let go for a while, or that die without us.
#include <sched.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "ptrace/process/target.h"
#include "ptrace/replica/target_family.h"
#include "ptrace/test_support.h"

namespace shadowprof::let_go_test {
namespace {

struct Facts {
    std::atomic<std::uint64_t> signals{0}, turns{0};
    std::atomic<bool> stop{false}, starts_thread{false}, has_thread{false};
    std::atomic<pid_t> init{0};
};

Shared<Facts>* handled_in = nullptr;

void count_signal(int) {
    ++(*handled_in)->signals;
}

int raise_until_stopped(Shared<Facts>& facts) {
    handled_in = &facts;
    ::signal(SIGUSR1, count_signal);
    while (!facts->stop) {
        ::raise(SIGUSR1);
        ++facts->turns;
    }
    return facts->signals == facts->turns ? 5 : 6;
}

pid_t tracer_of(pid_t pid) {
    const auto status = read_proc_status(pid);
    return status ? status->tracer_pid : -1;
}

// Makes the init of a PID namespace, which executes `body`. Returns how it ended, or 0 if that is
// not allowed here.
int status_of_init(Shared<Facts>& facts, void (*body)()) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWPID) != 0) return 0;
    const pid_t pid = ::fork();
    if (pid == 0) {
        leave_signals_to_the_kernel();
        body();
        ::_exit(3);
    }
    facts->init = pid;
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

TEST_CASE("a target that is let go loses no signal, and is traced again") {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] { return raise_until_stopped(facts); });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] { return facts->turns > 10; }));
    const auto first = facts->turns.load();
    REQUIRE(pump_until(hub, **target, [&] { return facts->turns > first + 1; }));
    // Between two turns it stops at a signal.
    CHECK((*target)->take_event_stops() > 0);
    const auto programs = (*target)->exec_count();
    for (int i = 0; i < 20; ++i) {
        REQUIRE((*target)->let_go().has_value());
        CHECK((*target)->is_let_go());
        CHECK_FALSE((*target)->is_detached());
        CHECK(tracer_of(child.pid()) == 0);
        CHECK((*target)->thread_ids() == std::vector{child.pid()});
        const auto before = facts->turns.load();
        REQUIRE(wait_until([&] { return facts->turns > before; }));  // nobody handles its stops
        REQUIRE((*target)->seize_again().has_value());
        CHECK(tracer_of(child.pid()) == ::gettid());
        const auto then = facts->turns.load();
        REQUIRE(pump_until(hub, **target, [&] { return facts->turns > then; }));
    }
    CHECK((*target)->exec_count() == programs);
    facts->stop = true;
    CHECK(exit_code_at_end(hub, **target) == 5);
}

TEST_CASE("threads that were born meanwhile are traced, and live on") {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] {
        while (!facts->starts_thread) ::usleep(100);
        std::thread thread([&] {
            facts->has_thread = true;
            while (!facts->stop) ::usleep(100);
        });
        thread.join();
        return 4;
    });
    auto target = Target::attach(hub, child.pid());
    REQUIRE(need(target)->let_go().has_value());
    facts->starts_thread = true;
    REQUIRE(wait_until([&] { return facts->has_thread.load(); }));
    REQUIRE((*target)->seize_again().has_value());
    CHECK((*target)->thread_count() == 2);
    CHECK((*target)->thread_lives().size() == 2);
    facts->stop = true;
    CHECK(exit_code_at_end(hub, **target) == 4);
    CHECK((*target)->thread_lives().size() == 2);
}

TEST_CASE("the end of a target that was let go is noted") {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] { return raise_until_stopped(facts); });
    auto target = Target::attach(hub, child.pid());
    REQUIRE(need(target)->let_go().has_value());
    facts->stop = true;
    CHECK(exit_code_at_end(hub, **target) == 5);
    CHECK_FALSE((*target)->is_let_go());
    CHECK_FALSE((*target)->seize_again().has_value());
}

TEST_CASE("the end of a followed process that was let go is noted") {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] {
        while (!facts->starts_thread) ::usleep(100);
        const pid_t pid = ::fork();
        if (pid == 0) ::_exit(raise_until_stopped(facts));
        facts->init = pid;
        int status = 0;
        ::waitpid(pid, &status, 0);
        return WEXITSTATUS(status);
    });
    auto target = Target::attach(hub, child.pid(), Forks::follow);
    need(target);
    TargetFamily family(hub, **target);
    const auto pump = [&](auto condition) {
        return wait_until(condition, [&] {
            while (const auto event = hub.poll()) family.handle(*event);
        });
    };
    facts->starts_thread = true;
    REQUIRE(pump([&] { return facts->turns > 10 && facts->init != 0; }));
    Target* born = family.find_process(facts->init);
    REQUIRE(born);
    REQUIRE(born->let_go().has_value());
    CHECK(tracer_of(born->pid()) == 0);
    facts->stop = true;
    REQUIRE(pump([&] {
        born->look_for_end();
        return born->end().has_value();
    }));
    CHECK(family.members().size() == 2);  // its last status was of no new process
    REQUIRE(pump([&] { return (*target)->end().has_value(); }));
    CHECK((*target)->end()->exit_code() == 5);
}

TEST_CASE("the init of a PID namespace dies of a fault, as without us") {
    struct Case {
        const char* name;
        int signal;
        void (*body)();
    };
    const Case cases[] = {
        {"a read of nothing", SIGSEGV, [] { asm volatile("movl (%0), %%eax" ::"r"(8L)
                                                         : "eax"); }},
        {"a division by zero", SIGFPE,
         [] {
             asm volatile("xor %%ecx, %%ecx; mov $1, %%eax; cltd; idiv %%ecx" ::
                              : "eax", "ecx", "edx");
         }},
        {"no instruction", SIGILL, [] { asm volatile("ud2"); }},
        {"a breakpoint", SIGTRAP, [] { asm volatile("int3"); }},
        {"a long breakpoint", SIGTRAP, [] { asm volatile(".byte 0xcd, 3"); }},
        {"what abort() does", SIGSEGV,
         [] {
             ::raise(SIGABRT);
             asm volatile("hlt");
         }},
        {"a fault whose signal is blocked", SIGSEGV,
         [] {
             sigset_t all;
             sigfillset(&all);
             ::sigprocmask(SIG_BLOCK, &all, nullptr);
             asm volatile("hlt");
         }},
    };
    for (const auto& each : cases) {
        CAPTURE(each.name);
        Shared<Facts> facts;
        TestHub hub;
        Child child(hub, [&] {
            while (!facts->starts_thread) ::usleep(100);
            return status_of_init(facts, each.body);
        });
        auto target = Target::attach(hub, child.pid(), Forks::follow);
        need(target);
        TargetFamily family(hub, **target);
        facts->starts_thread = true;
        REQUIRE(wait_until([&] { return (*target)->end().has_value(); },
                           [&] {
                               while (const auto event = hub.poll()) family.handle(*event);
                           }));
        if (facts->init == 0) return;  // no namespaces here
        CHECK((*target)->end()->exit_code() == each.signal);
        Target* init = nullptr;
        for (const auto& [number, member] : family.members())
            if (member.target->pid() == facts->init) init = member.target;
        if (!init) continue;
        init->look_for_end();
        CHECK(init->end() == WaitStatus::decode(each.signal));
    }
}

}  // namespace shadowprof::let_go_test
