// Target::look: where one thread is.
#include <chrono>

#include "ptrace/process/target.h"
#include "ptrace/thread/thread_registers.h"

namespace shadowprof {
namespace {

// Of processes with more threads no files are kept open, as descriptors are limited.
constexpr std::size_t max_threads_with_files = 256;

}  // namespace

bool Target::is_active(pid_t tid) {
    ActivityFile own;
    const ActivityFile* file = activity(tid, own);
    return file && file->is_active();
}

std::optional<SleepingThread> Target::sleep_of(pid_t tid) {
    ActivityFile own;
    const ActivityFile* file = activity(tid, own);
    return file ? file->sleep() : std::nullopt;
}

// Null if the thread has stopped, or will. Opens `own` where no file is kept.
const ActivityFile* Target::activity(pid_t tid, ActivityFile& own) {
    const auto found = threads_.find(tid);
    if (found == threads_.end()) return nullptr;
    Thread& thread = found->second;
    if (thread.stop || thread.dead || late_.contains(tid)) return nullptr;
    if (threads_.size() > max_threads_with_files) return &(own = ActivityFile(pid_, tid));
    if (!thread.activity) thread.activity.emplace(pid_, tid);
    return &*thread.activity;
}

Result<ThreadLook> Target::look(pid_t tid, StackCopy& stack, std::size_t bytes) {
    const Error gone{ErrorCode::gone, ESRCH, fmt::format("thread {} has ended", tid)};
    if (!threads_.contains(tid)) return gone;
    if (hub_->has_status(tid))
        return Error{ErrorCode::interrupted, 0, fmt::format("thread {} has stopped", tid)};
    const auto begin = std::chrono::steady_clock::now();
    interrupt(tid);
    const auto status = hub_->wait_for(tid, longest_look);
    if (!status) {
        note_end(tid, WaitStatus::decode(SIGKILL));
        return gone;
    }
    ThreadLook look;
    if (!*status) {
        late_.insert(tid);
        return look;
    }
    if (const auto registers = StoppedThread(*hub_, tid, **status).registers()) {
        load_general(look.cpu.emplace(), *registers);
        if (registers->orig_rax != no_syscall) look.system_call = registers->orig_rax;
        stack.take(pid_, {registers->rsp}, bytes);
    }
    // What follows may let it go on a moment before we notice.
    look.pause = std::chrono::steady_clock::now() - begin;
    take_status(tid, **status, false);
    calm_down();
    return look;
}

}  // namespace shadowprof
