// Processes to trace, for the tests of this folder.
#pragma once

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <new>
#include <string_view>
#include <thread>

#include "ptrace/proc/proc.h"
#include "ptrace/process/target.h"
#include "ptrace/replica/replica.h"
#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

// An object that parent and forked child both see.
template <typename T>
class Shared {
  public:
    Shared()
        : object_(new (::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0)) T()) {}
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    ~Shared() { ::munmap(object_, sizeof(T)); }

    T* operator->() { return object_; }
    T& operator*() { return *object_; }

  private:
    T* object_;
};

// A hub for which SIGCHLD is prepared.
class TestHub : public WaitHub {
  public:
    TestHub() { prepare_sigchld(); }
};

// doctest reports signals on a small stack of its own. In a child that dies of a signal, the report
// is noise, and too much for that stack in a sanitized build.
inline void leave_signals_to_the_kernel() {
    for (const int signal : {SIGINT, SIGILL, SIGFPE, SIGSEGV, SIGTERM, SIGABRT})
        ::signal(signal, SIG_DFL);
}

// A child that runs `body` and exits with its result. The constructor returns when the child is in
// `body`. The destructor kills and reaps it.
class Child {
  public:
    Child(WaitHub& hub, const std::function<int()>& body) : hub_(&hub) {
        Shared<std::atomic<bool>> has_begun;
        pid_ = ::fork();
        if (pid_ == 0) {
            leave_signals_to_the_kernel();
            *has_begun = true;
            ::_exit(body());
        }
        while (pid_ > 0 && !*has_begun) ::usleep(50);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        ::kill(pid_, SIGKILL);
        static_cast<void>(hub_->reap(pid_));
    }
    pid_t pid() const { return pid_; }

  private:
    WaitHub* hub_;
    pid_t pid_;
};

// Waits until `condition` holds, and calls `meanwhile` before each check. Returns false if it takes
// longer than any working program needs on the slowest machine.
inline bool wait_until(
    const std::function<bool()>& condition, const std::function<void()>& meanwhile = [] {}) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        meanwhile();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

// Waits like wait_until(), and keeps the target going.
inline bool pump_until(WaitHub& hub, Target& target, const std::function<bool()>& condition) {
    return wait_until(condition, [&] {
        while (const auto event = hub.poll()) target.handle(*event);
    });
}

inline bool pump_to_end(WaitHub& hub, Target& target) {
    return pump_until(hub, target, [&] { return target.end().has_value(); });
}

// Keeps the target going until it has ended. Returns -1 if it does not end, or ends by a signal.
inline int exit_code_at_end(WaitHub& hub, Target& target) {
    if (!pump_to_end(hub, target) || target.end()->kind() != WaitStatus::Kind::exited) return -1;
    return target.end()->exit_code();
}

// Keeps the processor busy without a system call. Not inlined, so that its code has its own
// addresses.
[[gnu::noinline]] inline std::uint64_t spin_for(std::uint64_t turns) {
    std::uint64_t x = 1;
    for (std::uint64_t i = 0; i < turns; ++i) {
        x = x * 6364136223846793005u + i;
        asm volatile("" : "+r"(x));
    }
    return x;
}

// Whether the only thread of a process sleeps in the kernel.
inline bool is_asleep(pid_t pid) {
    return read_thread_state(pid, pid).value_or('?') == 'S';
}

// Returns a result's value, or fails the test with the error's message.
template <typename T>
T& need(Result<T>& result) {
    if (!result) FAIL(result.error().message);
    return *result;
}

// Checks that forking a replica of the target is refused with a message that contains `words`.
inline void check_fork_is_refused(Target& target, std::string_view words) {
    auto stop = target.stop();
    const auto replica = Replica::fork(need(stop));
    REQUIRE(!replica);
    CHECK(replica.error().code == ErrorCode::permission);
    CHECK(replica.error().message.find(words) != std::string::npos);
}

}  // namespace shadowprof
