// Target::detach: cleans up in the process and lets it go.
#include <sys/syscall.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "ptrace/proc/proc.h"
#include "ptrace/process/target.h"
#include "ptrace/remote/remote_syscall.h"

namespace shadowprof {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long detach() tries to have zombies reaped and injected memory unmapped, and how long it
// waits for a thread that can do so unnoticed.
constexpr std::chrono::seconds reap_deadline{20};
constexpr std::chrono::seconds wake_deadline{1};

}  // namespace

Result<void> Target::detach(Sleepers sleepers) {
    if (end_ || detached_) return {};
    end_companion();
    for (const auto deadline = Clock::now() + reap_deadline;; keep_going_for(milliseconds(1))) {
        const bool last = !leaves_something() || Clock::now() > deadline;
        auto stop = stop_to_detach(sleepers);
        if (end_) return {};
        if (!stop) return std::move(stop).error();
        TRY(clean_up(*stop));
        if (leaves_something() && !last) continue;
        (*std::move(stop)).detach();
        return {};
    }
}

// Stops the target for the detach. If there is something to clean up, it waits for a thread that
// can do so unnoticed. After `wake_deadline` any sleeper is stopped.
Result<ScopedStop> Target::stop_to_detach(Sleepers sleepers) {
    if (sleepers == Sleepers::stop || !leaves_something()) return this->stop(sleepers);
    const auto deadline = Clock::now() + wake_deadline;
    while (Clock::now() < deadline) {
        {
            auto stop = this->stop(Sleepers::stop_unseen);
            if (!stop || !stop->threads().empty()) return stop;
        }
        keep_going_for(milliseconds(10));
    }
    return this->stop(Sleepers::stop);
}

void Target::keep_going_for(std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
    std::vector<WaitEvent> others;
    while (const auto event = hub_->poll())
        if (!handle(*event)) others.push_back(*event);
    for (auto it = others.rbegin(); it != others.rend(); ++it) hub_->put_back(*it);
}

Result<void> Target::clean_up(ScopedStop& stop) {
    if (!leaves_something()) return {};
    for (StoppedThread* thread : RemoteSyscall::threads_to_borrow(stop.threads())) {
        auto session = borrow(*thread);
        if (!session) continue;
        if (!zombies_->empty()) TRY(reap_zombies(*session, *zombies_));
        TRY(unmap_injected(*session, thread->tid()));
        return session->finish();
    }
    return {};
}

// Whatever the program has mapped in its place since, or unmapped, is left alone.
Result<void> Target::unmap_injected(RemoteSyscall& session, pid_t tid) {
    if (injected_.empty()) return {};
    TRY_ASSIGN(const MemoryMap map, read_memory_map(tid));
    for (const auto& memory : injected_) {
        if (!memory.is_in(map)) continue;
        TRY(session.call(SYS_munmap,
                         {memory.range.start.value, memory.range.end - memory.range.start}));
    }
    injected_.clear();
    return {};
}

void Target::detach_all(std::vector<StoppedThread>& threads) {
    take_back(threads);
    end_companion();
    detached_ = true;
    for (const auto& [tid, thread] : threads_) {
        if (thread.stop) static_cast<void>(StoppedThread(*hub_, tid, *thread.stop).detach());
    }
    if (!let_go_) note_ends_of_all_but(0);
    threads_.clear();
    late_.clear();
    calm_down();
}

// Detaches a thread that could not be stopped for the detach, or was created during it.
bool Target::detach_late(const WaitEvent& event) {
    const bool in_signal = event.status.kind() == WaitStatus::Kind::signal_stop;
    StoppedThread thread(*hub_, event.pid, event.status);
    static_cast<void>(thread.detach(in_signal ? event.status.signal() : 0));
    return true;
}

}  // namespace shadowprof
