#include "ptrace/orphan_heir.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>

#include "ptrace/proc.h"
#include "ptrace/process_memory.h"
#include "ptrace/remote_syscall.h"

namespace shadowprof {
namespace {

// What the prctl writes.
using Answer = std::uint32_t;
// Functions that call no other use so much below the stack pointer (System V ABI, section 3.2.2).
constexpr std::uint64_t red_zone_bytes = 128;

Error unknown(std::string_view why) {
    return {ErrorCode::unsupported, 0, std::string(why)};
}

// How far from the stack pointer is searched.
constexpr std::uint64_t searched_bytes = 16 * page_bytes;

// A word that is 0, below what the thread uses of its stack.
std::optional<GuestAddress> find_zero_word(pid_t tid, GuestAddress stack) {
    const std::uint64_t end = (stack.value - red_zone_bytes) & ~(sizeof(Answer) - 1);
    ProcessMemory memory(tid);
    for (std::uint64_t at = end; at > end - searched_bytes; at -= sizeof(Answer)) {
        const GuestAddress word{at - sizeof(Answer)};
        const auto value = read_value<Answer>(memory, word);
        if (!value) return std::nullopt;
        if (*value == 0) return word;
    }
    return std::nullopt;
}

Result<bool> ask(StoppedThread& thread, GuestAddress instruction, Target& target) {
    TRY_ASSIGN(const auto registers, thread.registers());
    const auto word = find_zero_word(thread.tid(), {registers.rsp});
    if (!word) return unknown("the process has no room for an answer");
    TRY_ASSIGN(auto session, RemoteSyscall::begin(thread, instruction, target.ptrace_options()));
    TRY_ASSIGN(const std::int64_t result,
               session.call(SYS_prctl, {PR_GET_CHILD_SUBREAPER, word->value}));
    ProcessMemory memory(thread.tid());
    const auto answer = read_value<Answer>(memory, *word);
    if (answer && *answer != 0) {
        TRY_ASSIGN(const UniqueFd writable, open_process_memory(thread.tid(), O_RDWR));
        constexpr Answer before = 0;
        if (::pwrite(writable.get(), &before, sizeof before, static_cast<off_t>(word->value)) < 0)
            return errno_error("restore a word of the target");
    }
    TRY(session.finish());
    if (result != 0 || !answer) return unknown("the process does not answer");
    return *answer != 0;
}

}  // namespace

Result<bool> inherits_orphans(ScopedStop& stop) {
    TRY_ASSIGN(const GuestAddress instruction, stop.target().syscall_instruction());
    Error refusal = unknown("no thread of the process can be asked");
    for (StoppedThread& thread : stop.threads()) {
        auto answer = ask(thread, instruction, stop.target());
        if (answer) return answer;
        refusal = std::move(answer).error();
    }
    return refusal;
}

Result<bool> has_orphan_heir(ScopedStop& stop) {
    const auto known = [](Result<bool> answer) -> Result<bool> {
        if (answer || answer.error().code == ErrorCode::gone) return answer;
        return Error{ErrorCode::system, answer.error().sys_errno,
                     "it cannot be known who would see its replicas: " + answer.error().message};
    };
    TRY_ASSIGN(bool inherits, known(inherits_orphans(stop)));
    const Relatives* const relatives = stop.target().relatives();
    for (pid_t pid = stop.target().pid(); relatives && !inherits;) {
        TRY_ASSIGN(const auto stat, read_proc_stat(pid));
        pid = stat.parent_pid;
        Target* const ancestor = relatives->find_process(pid);
        if (!ancestor) break;
        TRY_ASSIGN(auto stopped, ancestor->stop());
        TRY_ASSIGN(inherits, known(inherits_orphans(stopped)));
    }
    return inherits;
}

}  // namespace shadowprof
