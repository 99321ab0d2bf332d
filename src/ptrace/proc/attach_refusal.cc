#include "ptrace/proc/attach_refusal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/files/fd.h"
#include "ptrace/proc/proc.h"
#include "ptrace/proc/program_check.h"

namespace shadowprof {
namespace {

// PROC_USER_INIT_INO of the kernel.
constexpr ino_t inode_of_first_user_namespace = 0xEFFFFFFD;
constexpr const char* yama_path = "/proc/sys/kernel/yama/ptrace_scope";

Error refusal(ErrorCode code, pid_t pid, std::string_view reason) {
    return {code, 0, fmt::format("cannot attach to process {}: {}", pid, reason)};
}

// Reads kernel.yama.ptrace_scope. Returns 0 if there is no Yama.
int read_yama_scope() {
    const UniqueFd fd(::open(yama_path, O_RDONLY | O_CLOEXEC));
    char digit = '0';
    if (!fd || ::read(fd.get(), &digit, 1) != 1) return 0;
    return digit - '0';
}

// The kernel reports the id of the tracing thread.
pid_t process_of_thread(pid_t tid) {
    const auto status = read_proc_status(tid);
    return status ? status->tgid : tid;
}

}  // namespace

Result<void> check_attachable(pid_t pid) {
    const auto status = read_proc_status(pid);
    if (!status) return refusal(ErrorCode::not_found, pid, "there is no such process");
    const auto refuse = [pid](std::string_view reason) {
        return refusal(ErrorCode::unsupported, pid, reason);
    };
    if (pid == ::getpid()) return refuse("it is shadowprof itself");
    if (status->tgid != pid)
        return refuse(fmt::format("it is a thread of process {}; name that one", status->tgid));
    const auto tids = read_thread_ids(pid);
    const bool has_threads = tids && tids->size() > 1;  // threads outlive a leader that ends first
    if (status->state == 'Z' && !has_threads) return refuse("it is a zombie, it has already ended");
    if (status->kernel_thread) return refuse("it is a kernel thread");
    if (status->tracer_pid != 0)
        return refuse(fmt::format("process {} traces it already; end that one first",
                                  process_of_thread(status->tracer_pid)));
    const auto kind = read_exe_kind(pid);
    if (kind && *kind == ProgramKind::elf_other)
        return refuse("it is not a 64-bit x86 program; shadowprof profiles only those");
    return {};
}

TracerRights TracerRights::of_this_process() {
    const Credentials own = Credentials::of_this_process();
    struct stat user_namespace {};
    const bool is_known = ::stat("/proc/self/ns/user", &user_namespace) == 0;
    return {.effective_uid = own.effective_uid,
            .may_trace_privileged = own.may_trace_privileged,
            .in_first_user_namespace =
                !is_known || user_namespace.st_ino == inode_of_first_user_namespace,
            .yama_scope = read_yama_scope()};
}

Error explain_seize_failure(pid_t pid, int error_number, const TracerRights& own) {
    if (error_number == ESRCH) return refusal(ErrorCode::gone, pid, "it has ended");
    if (error_number != EPERM && error_number != EACCES)
        return errno_error(fmt::format("cannot attach to process {}", pid), error_number);
    const auto refuse = [pid](std::string_view reason) {
        return refusal(ErrorCode::permission, pid, reason);
    };
    if (own.yama_scope == 3)
        return refuse("kernel.yama.ptrace_scope is 3, which forbids tracing until the next boot");
    if (own.may_trace_privileged) {
        if (!own.in_first_user_namespace)
            return refuse(
                "shadowprof has the rights of root only in its own user namespace, as in a "
                "rootless container, and the process is outside of it; run shadowprof there, as "
                "root or as the process's user");
        return refuse(
            "a security module of the kernel (Landlock, SELinux, AppArmor) or a filter of system "
            "calls forbids it even to root, as in a sandbox; run shadowprof outside of it, or "
            "allow it there to trace");
    }
    const auto status = read_proc_status(pid);
    if (status && status->effective_uid != own.effective_uid)
        return refuse(fmt::format("it belongs to user {}; run shadowprof as that user or as root",
                                  status->effective_uid));
    if (own.yama_scope == 1 || own.yama_scope == 2)
        return refuse(
            fmt::format("kernel.yama.ptrace_scope is {}; run as root, or "
                        "'sysctl kernel.yama.ptrace_scope=0'",
                        own.yama_scope));
    if (own.effective_uid == 0)
        return refuse(
            "the capability CAP_SYS_PTRACE is missing; in a container, add it "
            "('--cap-add=SYS_PTRACE')");
    return refuse(
        "the kernel forbids it: the process has privileges that shadowprof lacks, or it "
        "made itself undumpable; run as root");
}

Error explain_seize_failure(pid_t pid, int error_number) {
    return explain_seize_failure(pid, error_number, TracerRights::of_this_process());
}

}  // namespace shadowprof
