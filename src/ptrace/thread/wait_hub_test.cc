#include "ptrace/thread/wait_hub.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include "ptrace/test_support.h"

namespace shadowprof::wait_hub_test {
using namespace std::chrono_literals;

TEST_CASE("wait statuses are told apart") {
    using Kind = WaitStatus::Kind;
    const auto stop = [](int event, int signal) { return event << 16 | signal << 8 | 0x7f; };
    CHECK(WaitStatus::decode(3 << 8).kind() == Kind::exited);
    CHECK(WaitStatus::decode(3 << 8).exit_code() == 3);
    CHECK(WaitStatus::decode(SIGSEGV | 0x80).kind() == Kind::killed);
    CHECK(WaitStatus::decode(SIGSEGV | 0x80).signal() == SIGSEGV);
    CHECK(WaitStatus::decode(stop(0, SIGTRAP)).kind() == Kind::signal_stop);
    CHECK(WaitStatus::decode(stop(0, SIGTRAP | 0x80)).kind() == Kind::syscall_stop);
    CHECK(WaitStatus::decode(stop(PTRACE_EVENT_EXEC, SIGTRAP)).is_event(PTRACE_EVENT_EXEC));
    CHECK(WaitStatus::decode(stop(PTRACE_EVENT_STOP, SIGTRAP)).kind() == Kind::interrupt_stop);
    CHECK(WaitStatus::decode(stop(PTRACE_EVENT_STOP, SIGTSTP)).kind() == Kind::group_stop);
    CHECK(WaitStatus::decode(stop(0, SIGTSTP)).kind() == Kind::signal_stop);
}

TEST_CASE("waiting for one process leaves the statuses of others to be found") {
    TestHub hub;
    Child first(hub, [] { return 1; });
    Child second(hub, [] { return 2; });
    auto status = hub.wait_for(second.pid());
    CHECK(need(status).exit_code() == 2);
    std::optional<WaitEvent> event;
    REQUIRE(wait_until([&] { return (event = hub.poll()).has_value(); }));
    CHECK(event->pid == first.pid());
    CHECK(event->status.exit_code() == 1);
    CHECK(!hub.poll());
}

TEST_CASE("a wait ends at its time-out, and at once for what is no child") {
    TestHub hub;
    Child sleeper(hub, [] { return ::pause(); });
    auto status = hub.wait_for(sleeper.pid(), 1ms);
    CHECK(!need(status).has_value());
    auto stranger = hub.wait_for(::getppid(), 10s);
    REQUIRE(!stranger);
    CHECK(stranger.error().code == ErrorCode::gone);
}

TEST_CASE("a status that was put back is found again") {
    TestHub hub;
    Child child(hub, [] { return 5; });
    auto status = hub.wait_for(child.pid());
    hub.put_back({child.pid(), need(status)});
    auto again = hub.reap(child.pid());
    CHECK(need(again) == *status);
}

TEST_CASE("discarded processes are reaped in passing and never reported") {
    TestHub hub;
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(::pause());
    hub.discard(pid);
    ::kill(pid, SIGKILL);
    CHECK(wait_until([&] { return !hub.poll() && hub.discarded() == 0; }));
    CHECK(::waitpid(pid, nullptr, __WALL) == -1);
}

}  // namespace shadowprof::wait_hub_test
