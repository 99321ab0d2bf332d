// Kills the tracer after each of its calls in turn.
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "base/files/fd.h"
#include "ptrace/proc/proc.h"
#include "ptrace/replica/fork_server.h"
#include "ptrace/test_support.h"

namespace shadowprof::tracer_death_test {
namespace {

struct Facts {
    std::atomic<std::uint64_t> rounds{0};
    std::atomic<bool> ready{false}, stop{false};
    std::atomic<bool> begun{false}, made{false};  // states of the fork server
};

// Exit codes of a target.
enum Harm : int { none, wrong_result, another_mask, a_child, call_cut_short };

std::uint64_t signal_mask() {
    std::uint64_t mask = 0;
    ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof mask);
    return mask;
}

double sum_of_roots() {
    std::array<double, 64> roots;
    for (std::size_t i = 0; i < roots.size(); ++i) roots[i] = static_cast<double>(i) * 0.5;
    double sum = 0;
    for (int round = 0; round < 50; ++round)
        for (const double root : roots) sum += root * static_cast<double>(round);
    return sum;
}

bool has_children(int which) {
    siginfo_t info;
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | which) == 0 || errno != ECHILD;
}

// Checks whether anything has changed since the beginning.
class Witness {
  public:
    // With __WALL, `children` includes those that send no signal at their end.
    Harm observe(int children) const {
        if (sum_of_roots() != sum_) return wrong_result;
        if (signal_mask() != mask_) return another_mask;
        return has_children(children) ? a_child : none;
    }

  private:
    double sum_ = sum_of_roots();
    std::uint64_t mask_ = signal_mask();
};

int compute(Facts& facts, int children) {
    const Witness witness;
    facts.ready = true;
    while (!facts.stop) {
        if (const Harm harm = witness.observe(children)) return harm;
        ++facts.rounds;
    }
    return witness.observe(children);
}

int computes(Facts& facts, int) {
    return compute(facts, __WALL);
}

int polls(Facts& facts, int pipe) {
    const Witness witness;
    facts.ready = true;
    pollfd fd{pipe, POLLIN, 0};
    constexpr int minutes_ms = 600'000;
    if (::poll(&fd, 1, minutes_ms) != 1) return call_cut_short;
    return witness.observe(__WALL);
}

// Runs beside the borrowed thread, which waits for the end of the child.
int computes_beside(Facts& facts, int) {
    int harm = none;
    std::thread([&] { harm = compute(facts, 0); }).join();
    return harm == none && has_children(__WALL) ? a_child : harm;
}

bool has_leader() {
    const auto state = read_thread_state(::getpid(), ::getpid());
    return state && *state != 'Z';
}

// The kernel did not make this thread's stack. The computation begins when the other thread, which
// might otherwise be borrowed, has ended.
int computes_in_the_only_thread(Facts& facts, int) {
    static Facts* shared;
    shared = &facts;
    std::thread([] {
        while (has_leader()) std::this_thread::yield();
        ::_exit(compute(*shared, __WALL));
    }).detach();
    ::syscall(SYS_exit, 0);
    return none;
}

struct Pipe {
    UniqueFd out, in;
    Pipe() {
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        out = UniqueFd(ends[0]);
        in = UniqueFd(ends[1]);
    }
};

[[noreturn]] void make_server(pid_t pid, Facts& facts) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    TestHub hub;
    auto target = Target::attach(hub, pid);
    if (!target) ::_exit(1);
    {
        auto stop = (*target)->stop(Target::Sleepers::stop);
        if (!stop) ::_exit(2);
        facts.begun = true;
        const auto server = ForkServer::of(*stop);
        facts.made = server.has_value();
        facts.begun = false;
    }
    ::_exit((*target)->detach() ? 0 : 3);
}

// Whether the call may change something outside the tracer.
bool acts(std::uint64_t number) {
    constexpr std::array calls = {SYS_ptrace, SYS_pwrite64, SYS_kill, SYS_pidfd_send_signal,
                                  SYS_wait4,  SYS_waitid};
    return std::ranges::find(calls, static_cast<long>(number)) != calls.end();
}

// Runs the tracer until it has made `calls` effective calls while the server is made, and kills it
// there. Returns false if the tracer ended before.
bool kill_after(int calls, pid_t tracer, Facts& facts) {
    int status = 0, calls_seen = 0;
    bool at_exit = true;
    ::waitpid(tracer, &status, 0);
    ::ptrace(PTRACE_SETOPTIONS, tracer, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    for (int signal = 0;;) {
        ::ptrace(PTRACE_SYSCALL, tracer, nullptr, std::exchange(signal, 0));
        ::waitpid(tracer, &status, __WALL);
        if (!WIFSTOPPED(status)) return false;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            signal = WSTOPSIG(status);
            continue;
        }
        at_exit = !at_exit;
        if (!at_exit || !facts.begun) continue;
        user_regs_struct registers;
        ::ptrace(PTRACE_GETREGS, tracer, nullptr, &registers);
        if (acts(registers.orig_rax) && ++calls_seen == calls) break;
    }
    ::kill(tracer, SIGKILL);
    ::waitpid(tracer, &status, __WALL);
    return true;
}

using Body = int (*)(Facts&, int);

// Returns whether the tracer was killed. `made`: whether it could make a server.
bool survives(Body body, int calls, bool& made) {
    Shared<Facts> facts;
    const Pipe pipe;
    const pid_t pid = ::fork();
    if (pid == 0) {
        leave_signals_to_the_kernel();
        ::_exit(body(*facts, pipe.out.get()));
    }
    REQUIRE(wait_until([&] { return facts->ready && (facts->rounds > 0 || is_asleep(pid)); }));
    const pid_t tracer = ::fork();
    if (tracer == 0) make_server(pid, *facts);
    const bool killed = kill_after(calls, tracer, *facts);
    made = facts->made;
    const auto rounds = facts->rounds.load();
    CHECK(wait_until([&] { return facts->rounds > rounds + 2 || is_asleep(pid); }));
    facts->stop = true;
    CHECK(::write(pipe.in.get(), "x", 1) == 1);
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CAPTURE(calls);
    CAPTURE(status);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == none);
    return killed;
}

// State that tests of stacks share with their targets.
Shared<Facts> facts;

int spin() {
    facts->ready = true;
    while (!facts->stop) ++facts->rounds;
    return 0;
}

int spin_in_a_handler() {
    static std::array<char, 65536> memory;
    const stack_t stack{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
    ::sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_flags = SA_ONSTACK;
    action.sa_handler = [](int) { ::_exit(spin()); };
    ::sigaction(SIGUSR1, &action, nullptr);
    ::raise(SIGUSR1);
    return 0;
}

}  // namespace

TEST_CASE("only a stack of the kernel or the C library has room for a way home") {
    const auto has_way_home = [](const std::function<int()>& body) {
        facts->ready = false;
        TestHub hub;
        Child child(hub, body);
        REQUIRE(wait_until([] { return facts->ready.load(); }));
        auto target = Target::attach(hub, child.pid());
        auto stop = need(target)->stop();
        auto session = (*target)->borrow(need(stop).threads().back());
        return need(session).has_way_home();
    };
    CHECK(has_way_home(spin));
    // Fails where the C library marks guards without a mapping.
    WARN(has_way_home([&] {
        std::thread(spin).join();
        return 0;
    }));
    CHECK_FALSE(has_way_home(spin_in_a_handler));
}

TEST_CASE("a thread with a way home is borrowed rather than one without") {
    facts->ready = false;
    TestHub hub;
    Child child(hub, [] {
        std::thread([] {
            for (;;) ++facts->rounds;
        }).detach();
        return spin_in_a_handler();
    });
    REQUIRE(wait_until([] { return facts->ready.load(); }));
    auto target = Target::attach(hub, child.pid());
    auto stop = need(target)->stop();
    const auto threads = RemoteSyscall::threads_to_borrow(need(stop).threads());
    REQUIRE(threads.size() == 2);
    CHECK(threads[0]->tid() != threads[1]->tid());
    const auto has_way_home = [&](StoppedThread& thread) {
        auto session = (*target)->borrow(thread);
        return need(session).has_way_home();
    };
    StoppedThread& leader = *threads[threads[0]->tid() != child.pid()];
    StoppedThread& other = *threads[threads[0]->tid() == child.pid()];
    CHECK_FALSE(has_way_home(leader));
    CHECK((threads[0] == &other) == has_way_home(other));
}

TEST_CASE("a target goes on unharmed, and without a child, wherever its tracer is killed") {
    struct Kind {
        std::string name;
        Body body;
    };
    const Kind kinds[] = {
        {"computes", computes},
        {"polls", polls},
        {"computes beside", computes_beside},
        {"computes in the only thread", computes_in_the_only_thread},
    };
    for (const Kind& kind : kinds) {
        CAPTURE(kind.name);
        bool made = false;
        int calls = 1;
        while (survives(kind.body, calls, made)) ++calls;
        CHECK(calls > 10);
        const std::string seen = kind.name + ": " + std::to_string(calls) + " moments" +
                                 (made ? "" : "; no server can be made here");
        MESSAGE(seen);
    }
}

}  // namespace shadowprof::tracer_death_test
