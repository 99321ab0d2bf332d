// Threads that block all signals, so that the main thread receives them.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace shadowprof {

template <typename Work>
std::thread start_quiet_thread(Work&& work) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread(std::forward<Work>(work));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

}  // namespace shadowprof
