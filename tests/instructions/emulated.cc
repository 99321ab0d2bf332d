#include "emulated.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulated_case.h"

namespace shadowprof {
namespace {

// After this many cases the block tables are nearly full.
constexpr std::uint64_t cases_a_process = 4000;
constexpr int patience_ms = 60'000;

struct Request {
    std::uint32_t first, count;
};

// Answers once when all cases are done. After a crash, the slots show how far it came.
[[noreturn]] void serve(int channel, std::span<Slot> slots) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CaseEmulator emulator;
    Request request;
    while (read(channel, &request, sizeof request) == sizeof request) {
        for (std::uint32_t i = request.first; i < request.count; ++i) {
            emulator.run(slots[i]);
            slots[i].done = true;
        }
        if (write(channel, &request, sizeof request) != sizeof request) _exit(1);
    }
    _exit(0);
}

}  // namespace

void EmulatedRunner::start(std::span<Slot> slots) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0) std::abort();
    if (pid_ == 0) {
        close(ends[0]);
        serve(ends[1], slots);
    }
    close(ends[1]);
    channel_ = ends[0];
    cases_ = 0;
}

void EmulatedRunner::stop() {
    if (pid_ < 0) return;
    close(channel_);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

std::uint32_t EmulatedRunner::run_from(std::span<Slot> slots, std::uint32_t first) {
    const auto count = static_cast<std::uint32_t>(slots.size());
    for (auto& slot : slots.subspan(first)) slot.done = false;
    const Request request = {first, count};
    if (write(channel_, &request, sizeof request) != sizeof request) return first;
    pollfd ready = {channel_, POLLIN, 0};
    Request answer;
    const bool answered =
        poll(&ready, 1, patience_ms) > 0 && read(channel_, &answer, sizeof answer) == sizeof answer;
    if (!answered) stop();
    while (first < count && slots[first].done) ++first;
    return first;
}

void EmulatedRunner::run(std::span<Slot> slots, std::uint32_t first) {
    const auto count = static_cast<std::uint32_t>(slots.size());
    for (auto next = first; next < count;) {
        if (pid_ >= 0 && cases_ >= cases_a_process) stop();
        if (pid_ < 0) start(slots);
        cases_ += count - next;
        next = run_from(slots, next);
        if (next == count) break;
        stop();
        // Levels that were not reached keep the outcomes that CaseEmulator::run() set first.
        ++next;
    }
}

}  // namespace shadowprof
