#include "ptrace/replica/orphan_heir.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include "ptrace/proc/proc.h"
#include "ptrace/remote/remote_syscall.h"
#include "ptrace/remote/scratch_word.h"

namespace shadowprof {
namespace {

Error unknown(std::string_view why) {
    return {ErrorCode::unsupported, 0, std::string(why)};
}

Result<bool> ask(StoppedThread& thread, Target& target) {
    TRY_ASSIGN(auto session, target.borrow(thread));
    // This word lies below the way home, too.
    TRY_ASSIGN(const auto word, ScratchWord::find(thread));
    TRY_ASSIGN(const std::int64_t result,
               session.call(SYS_prctl, {PR_GET_CHILD_SUBREAPER, word.address().value}));
    const auto answer = word.read();
    TRY(session.finish());
    if (result != 0 || !answer) return unknown("prctl(PR_GET_CHILD_SUBREAPER) failed");
    return *answer != 0;
}

Result<bool> ask_ancestor(Target& ancestor) {
    {
        TRY_ASSIGN(auto stop, ancestor.stop(Target::Sleepers::stop_unseen));
        if (!stop.threads().empty()) return inherits_orphans(stop);
    }
    if (const auto last_answer = ancestor.inherits_orphans()) return *last_answer;
    TRY_ASSIGN(auto stop, ancestor.stop(Target::Sleepers::stop));
    return inherits_orphans(stop);
}

}  // namespace

Result<bool> inherits_orphans(ScopedStop& stop) {
    Error refusal = unknown("no thread could be stopped");
    for (StoppedThread* thread : RemoteSyscall::threads_to_borrow(stop.threads())) {
        auto answer = ask(*thread, stop.target());
        if (answer) {
            stop.target().note_inherits_orphans(*answer);
            return answer;
        }
        refusal = std::move(answer).error();
    }
    return refusal;
}

Result<bool> has_orphan_heir(ScopedStop& stop) {
    const auto known = [](Result<bool> answer) -> Result<bool> {
        if (answer || answer.error().code == ErrorCode::gone) return answer;
        return Error{ErrorCode::system, answer.error().sys_errno,
                     "it is not known which process would see its forked copies as children: " +
                         answer.error().message};
    };
    TRY_ASSIGN(bool inherits, known(inherits_orphans(stop)));
    const Relatives* const relatives = stop.target().relatives();
    for (pid_t pid = stop.target().pid(); relatives && !inherits;) {
        TRY_ASSIGN(const auto stat, read_proc_stat(pid));
        pid = stat.parent_pid;
        Target* const ancestor = relatives->find_process(pid);
        if (!ancestor) break;
        TRY_ASSIGN(inherits, known(ask_ancestor(*ancestor)));
    }
    return inherits;
}

}  // namespace shadowprof
