// Threads that block signals, so that the main thread receives them.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace shadowprof {

// All signals but those that a thread raises by its own instructions: their handlers must run in
// the thread (base/files/truncated_files.h). Errors: as std::thread throws them.
template <typename Work>
std::thread start_quiet_thread(Work&& work) {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int raised : {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP}) sigdelset(&blocked, raised);
    struct Mask {
        sigset_t before;
        explicit Mask(const sigset_t& set) { pthread_sigmask(SIG_SETMASK, &set, &before); }
        Mask(const Mask&) = delete;
        Mask& operator=(const Mask&) = delete;
        ~Mask() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    } const mask(blocked);
    return std::thread(std::forward<Work>(work));
}

}  // namespace shadowprof
