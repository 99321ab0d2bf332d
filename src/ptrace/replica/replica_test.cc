#include "ptrace/replica/replica.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "ptrace/proc/proc.h"
#include "ptrace/test_support.h"
#include "ptrace/thread/process_memory.h"

// Instructions to step through: rax = 5, a system call, a load, a vector move, a fault.
extern "C" const char step_code[], step_syscall[], step_load[], step_vector[], step_fault[];
asm(R"(
    .text
step_code:
    mov $5, %eax
step_syscall:
    syscall
step_load:
    mov (%rdi), %rbx
step_vector:
    movq %xmm3, %rcx
step_fault:
    ud2
)");

namespace shadowprof::replica_test {
namespace {

constexpr std::size_t word_count = 64 * page_bytes / sizeof(std::uint64_t);

struct Facts {
    std::atomic<std::uint64_t> ticks{0};
    std::atomic<bool> stop{false}, ready{false};
    std::atomic<std::uint64_t> strange_waits{0}, handler_runs{0};
    std::atomic<pid_t> pid{0}, replica{0};
};

// Changes its memory all the time, and looks for children that it does not have.
int busy_target(Facts& facts, std::vector<std::uint64_t>& words) {
    while (!facts.stop) {
        for (auto& word : words) ++word;
        if (::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD) ++facts.strange_waits;
        ++facts.ticks;
    }
    return 17;
}

std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> children;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const pid_t pid = std::atoi(entry.path().filename().c_str());
        const auto status = pid > 0 ? read_proc_status(pid) : Result<ProcStatus>(ProcStatus{});
        if (pid > 0 && status && status->parent_pid == parent) children.push_back(pid);
    }
    return children;
}

GuestAddress address_of(const void* pointer) {
    return {reinterpret_cast<std::uint64_t>(pointer)};
}

Result<Replica> fork_at_stop(Target& target) {
    TRY_ASSIGN(ScopedStop stop, target.stop());
    return Replica::fork(stop);
}

enum class Kin { child, grandchild, stranger };

// Runs the target as our child, as a child's child, or as a process whose parent has ended. Returns
// the exit status of the child.
int run_as(Kin kin, const std::function<int()>& target) {
    if (kin == Kin::child) return target();
    const pid_t grandchild = ::fork();
    if (grandchild == 0) ::_exit(target());
    if (kin == Kin::stranger) ::_exit(17);
    int status = 0;
    ::waitpid(grandchild, &status, 0);
    return WEXITSTATUS(status);
}

// Ends a target that has no parent to end it if a check fails.
struct EndOfTarget {
    Facts& facts;
    ~EndOfTarget() { facts.stop = true; }
};

// Runs `check` on targets with every kind of parent.
void with_all_parents(const std::function<void(WaitHub&, Target&, Facts&, const void*)>& check) {
    for (const Kin kin : {Kin::child, Kin::grandchild, Kin::stranger}) {
        CAPTURE(static_cast<int>(kin));
        Shared<Facts> facts;
        TestHub hub;
        std::vector<std::uint64_t> words(word_count);
        Child child(hub, [&] {
            return run_as(kin, [&] {
                facts->pid = ::getpid();
                return busy_target(*facts, words);
            });
        });
        const EndOfTarget end_of_target{*facts};
        REQUIRE(wait_until([&] { return facts->ticks > 0; }));
        std::optional<Result<WaitStatus>> status;
        if (kin == Kin::stranger) status = hub.reap(child.pid());
        {
            auto target = Target::attach(hub, facts->pid);
            CHECK(need(target)->is_own_child() == (kin == Kin::child));
            check(hub, **target, *facts, words.data());
            REQUIRE((*target)->detach());
        }
        CHECK(children_of(facts->pid).empty());
        CHECK(wait_until([&] { return hub.discarded() == 0; }, [&] { hub.reap_discarded(); }));
        CHECK(children_of(::getpid()).size() == (status ? 0 : 1));
        CHECK(facts->strange_waits == 0);
        facts->stop = true;
        if (!status) status = hub.reap(child.pid());
        CHECK(need(*status).exit_code() == 17);
    }
}

}  // namespace

TEST_CASE("a replica's memory is the target's at the stop, though the target goes on") {
    with_all_parents([](WaitHub& hub, Target& target, Facts& facts, const void* words) {
        std::vector<std::byte> at_stop(word_count * sizeof(std::uint64_t));
        std::vector<std::byte> later(at_stop.size()), of_replica(at_stop.size());
        ProcessMemory memory(target.pid());
        auto stop = target.stop();
        auto replica = Replica::fork(need(stop));
        need(replica);
        REQUIRE(memory.read(address_of(words), at_stop));
        { ScopedStop ends_here = *std::move(stop); }
        const auto ticks = facts.ticks.load();
        REQUIRE(pump_until(hub, target, [&] { return facts.ticks > ticks + 2; }));
        REQUIRE(memory.read(address_of(words), later));
        CHECK(later != at_stop);
        const auto offset = static_cast<off_t>(address_of(words).value);
        REQUIRE(::pread(replica->memory_fd(), of_replica.data(), of_replica.size(), offset) ==
                static_cast<ssize_t>(of_replica.size()));
        CHECK(of_replica == at_stop);
    });
}

TEST_CASE("a hundred replicas leave no zombie, and the target sees nothing of them") {
    with_all_parents([](WaitHub& hub, Target& target, Facts& facts, const void*) {
        for (int i = 0; i < 100; ++i) {
            auto replica = fork_at_stop(target);
            need(replica);
            CHECK(read_proc_status(replica->pid())->state == 't');
            while (const auto event = hub.poll()) target.handle(*event);
        }
        const auto ticks = facts.ticks.load();
        REQUIRE(pump_until(hub, target, [&] { return facts.ticks > ticks; }));
        REQUIRE(pump_until(hub, target, [&] { return hub.discarded() == 0; }));
        CHECK(children_of(target.pid()).empty());
    });
}

TEST_CASE(
    "a replica holds no file open, is in no process group of the target, and has its memory") {
    with_all_parents([](WaitHub&, Target& target, Facts&, const void*) {
        auto replica = fork_at_stop(target);
        need(replica);
        const auto files = fmt::format("/proc/{}/fd", replica->pid());
        CHECK(std::filesystem::is_empty(files));
        CHECK(::getpgid(replica->pid()) != ::getpgid(target.pid()));
        CHECK(!std::filesystem::is_empty(fmt::format("/proc/{}/fd", target.pid())));
    });
}

TEST_CASE("a target whose fork server was killed gets another") {
    with_all_parents([](WaitHub& hub, Target& target, Facts& facts, const void*) {
        for (int i = 0; i < 3; ++i) {
            pid_t server = 0;
            {
                auto stop = target.stop();
                auto of_target = ForkServer::of(need(stop));
                server = need(of_target)->pid();
                ::kill(server, SIGKILL);
                auto replica = Replica::fork(*stop);
                need(replica);
                CHECK(ForkServer::of(*stop).value()->pid() != server);
            }
            const auto ticks = facts.ticks.load();
            REQUIRE(pump_until(hub, target, [&] { return facts.ticks > ticks; }));
        }
    });
}

TEST_CASE("a fork server keeps no directory in use") {
    TestHub hub;
    Shared<std::atomic<bool>> stop_child;
    Child child(hub, [&] {
        if (::chdir("/proc/self") != 0) return 1;
        while (!*stop_child) ::usleep(100);
        return 0;
    });
    const auto directory_of = [](pid_t pid) {
        return std::filesystem::read_symlink(fmt::format("/proc/{}/cwd", pid));
    };
    REQUIRE(wait_until([&] { return directory_of(child.pid()) != directory_of(::getpid()); }));
    auto target = Target::attach(hub, child.pid());
    need(target);
    {
        auto stop = (*target)->stop(Target::Sleepers::stop);
        auto server = ForkServer::of(need(stop));
        REQUIRE(server);
        CHECK(directory_of((*server)->pid()) == "/");
        CHECK(directory_of(child.pid()) != "/");
    }
    *stop_child = true;
    REQUIRE(pump_to_end(hub, **target));
    CHECK((*target)->end()->exit_code() == 0);
}

// An application that is a container's first process, or a supervisor, may take a child that died
// by a signal for a crash.
TEST_CASE("who inherits orphans unknown to us sees at most a child that ends by itself") {
    TestHub hub;
    struct Facts {
        std::atomic<bool> stop, ready;
        std::atomic<int> bad_ends;
        std::atomic<pid_t> target;
    };
    Shared<Facts> facts;
    Child supervisor(hub, [&] {
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        const pid_t target = ::fork();
        if (target == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // even if the test fails
            while (!facts->stop) facts->ready = true;
            ::_exit(0);
        }
        facts->target = target;
        int status = 0;
        for (pid_t pid = 0; (pid = ::waitpid(-1, &status, 0)) != target;) {
            if (pid < 0) return 1;
            facts->bad_ends += status != 0;
        }
        return status;
    });
    REQUIRE(wait_until([&] { return facts->ready && facts->target != 0; }));
    {
        auto target = Target::attach(hub, facts->target);
        need(target);
        auto stop = (*target)->stop();
        auto replica = Replica::fork(need(stop));
        REQUIRE(!replica);
        CHECK(replica.error().code == ErrorCode::permission);
    }
    facts->stop = true;
    auto end = hub.reap(supervisor.pid());
    CHECK(need(end).exit_code() == 0);
    CHECK(facts->bad_ends == 0);
}

TEST_CASE("where memory runs out a replica goes first, and the target is as likely as before") {
    with_all_parents([](WaitHub&, Target& target, Facts&, const void*) {
        const auto score = [](pid_t pid) {
            auto text = read_proc_text(fmt::format("/proc/{}/oom_score_adj", pid));
            return need(text);
        };
        const auto before = score(target.pid());
        auto replica = fork_at_stop(target);
        need(replica).offer_to_oom_killer();
        CHECK(score(replica->pid()) == "1000\n");
        CHECK(score(target.pid()) == before);
    });
}

TEST_CASE("a replica executes single instructions from given registers and memory") {
    Shared<Facts> facts;
    TestHub hub;
    std::vector<std::uint64_t> words(word_count);
    Child child(hub, [&] { return busy_target(*facts, words); });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] { return facts->ticks > 0; }));
    auto stop = (*target)->stop();
    auto snapshot = need(stop).threads().front().snapshot();
    auto replica = Replica::fork(*stop);
    need(replica);
    CpuState cpu = need(snapshot).cpu;
    const auto step = [&] {
        auto result = replica->single_step(cpu);
        return need(result);
    };

    cpu.rip = address_of(step_code);
    cpu[Gpr::rax] = static_cast<std::uint64_t>(-512);  // looks like a call that is to be restarted
    cpu[Gpr::r12] = 0x1234;
    CHECK(step().end == StepEnd::done);
    CHECK(cpu[Gpr::rax] == 5);
    CHECK(cpu[Gpr::r12] == 0x1234);
    CHECK(cpu.rip == address_of(step_syscall));

    cpu[Gpr::rax] = 231;  // exit_group
    CHECK(step().end == StepEnd::syscall);
    CHECK(cpu.rip == address_of(step_load));

    const std::uint64_t value = 0x1122334455667788;
    const GuestAddress place = address_of(words.data());
    REQUIRE(replica->write(place, std::as_bytes(std::span(&value, 1))));
    cpu[Gpr::rdi] = place.value;
    CHECK(step().end == StepEnd::done);
    CHECK(cpu[Gpr::rbx] == value);
    ProcessMemory memory(child.pid());
    CHECK(read_value<std::uint64_t>(memory, place) != value);

    constexpr std::size_t xmm3_at = 160 + 3 * 16, xstate_bv_at = 512;
    cpu.xsave[xstate_bv_at] |= std::byte{3};
    std::memcpy(cpu.xsave.data() + xmm3_at, &value, sizeof value);
    CHECK(step().end == StepEnd::done);
    CHECK(cpu[Gpr::rcx] == value);

    const StepResult fault = step();
    CHECK(fault.end == StepEnd::fault);
    CHECK(fault.signal == SIGILL);
    CHECK(cpu.rip == address_of(step_fault));

    cpu.rip = address_of(step_code);
    CHECK(step().end == StepEnd::done);
    CHECK(cpu[Gpr::rax] == 5);
}

TEST_CASE("a fork that a limit forbids is an error that says so, and the target goes on") {
    Shared<Facts> facts;
    TestHub hub;
    std::vector<std::uint64_t> words(word_count);
    Child child(hub, [&] {
        constexpr uid_t nobody = 65534;
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_NPROC, &none);
        if (::setresuid(nobody, nobody, nobody) != 0) ::_exit(77);
        return busy_target(*facts, words);
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    if (!pump_until(hub, **target, [&] { return facts->ticks > 0 || (*target)->end(); })) return;
    if ((*target)->end()) return;  // the test runs as root, so the limit cannot be reached
    auto replica = fork_at_stop(**target);
    REQUIRE(!replica);
    CHECK(replica.error().sys_errno == EAGAIN);
    CHECK(replica.error().message.find("limit") != std::string::npos);
    const auto ticks = facts->ticks.load();
    CHECK(pump_until(hub, **target, [&] { return facts->ticks > ticks; }));
}

namespace {

// A target that would notice if a copy of it ran a signal handler on the handler's own stack.
int target_with_handlers(Facts& facts) {
    static Facts* shared;
    shared = &facts;
    static std::array<char, 65536> alternate_stack;
    stack_t stack{
        .ss_sp = alternate_stack.data(), .ss_flags = 0, .ss_size = alternate_stack.size()};
    ::sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_flags = SA_ONSTACK;
    action.sa_handler = [](int) { ++shared->handler_runs; };
    for (const int signal : {SIGSEGV, SIGBUS, SIGTRAP, SIGILL, SIGSYS})
        ::sigaction(signal, &action, nullptr);
    facts.ready = true;
    while (!facts.stop) ++facts.ticks;
    return 0;
}

// Forks a replica and then waits: shadowprof may be killed at that point.
void fork_and_wait_to_be_killed(pid_t pid, Facts& facts, bool before_exit_kill) {
    TestHub hub;
    auto target = Target::attach(hub, pid);
    if (!target) ::_exit(1);
    auto stop = (*target)->stop();
    auto instruction = (*target)->syscall_instruction();
    if (!stop || !instruction) ::_exit(2);
    if (before_exit_kill) {
        auto session = RemoteSyscall::begin(stop->threads().front(), *instruction);
        if (!session) ::_exit(3);
        auto clone = session->clone(CLONE_PTRACE | CLONE_FILES);
        if (!clone || !session->finish()) ::_exit(4);
        facts.replica = clone->child;
        for (;;) ::pause();
    }
    auto replica = Replica::fork(*stop);
    if (!replica) ::_exit(5);
    facts.replica = replica->pid();
    for (;;) ::pause();
}

}  // namespace

TEST_CASE("a replica never runs when shadowprof is killed, and the target does not mind") {
    for (const bool before_exit_kill : {true, false}) {
        CAPTURE(before_exit_kill);
        Shared<Facts> facts;
        TestHub hub;
        Child target(hub, [&] { return target_with_handlers(*facts); });
        REQUIRE(wait_until([&] { return facts->ready.load(); }));
        {
            Child profiler(hub, [&] {
                fork_and_wait_to_be_killed(target.pid(), *facts, before_exit_kill);
                return 0;
            });
            REQUIRE(wait_until([&] { return facts->replica != 0; }));
        }
        REQUIRE(wait_until([&] {
            const auto status = read_proc_status(facts->replica);
            return !status || status->state == 'Z';
        }));
        const auto ticks = facts->ticks.load();
        CHECK(wait_until([&] { return facts->ticks > ticks; }));
        CHECK(facts->handler_runs == 0);
    }
}

}  // namespace shadowprof::replica_test
