// The table of system calls. A call's row holds everything that is known of it. Stages see their
// part through syscall_facts.h and guest_kernel/calls/syscall_table.h.
#pragma once

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <time.h>

#include <cerrno>
#include <cstdint>

#include "syscalls/handlers.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

// The function that emulates a call, or none. `present_` avoids a comparison of addresses, which is
// no constant expression in a sanitizer build.
class SyscallFunction {
  public:
    using Pointer = SyscallOutcome (*)(SyscallCall&);

    constexpr SyscallFunction(std::nullptr_t) {}
    constexpr SyscallFunction(Pointer function) : function_(function), present_(true) {}

    constexpr explicit operator bool() const { return present_; }
    // Needs a function.
    constexpr Pointer get() const { return function_; }

  private:
    Pointer function_ = nullptr;
    bool present_ = false;
};

struct SyscallRow {
    std::uint16_t number;
    std::string_view name;
    SyscallClass syscall_class;
    SyscallFunction handler;  // none: the sample ends
    std::string_view remark;
    MemoryUse memory = {};
    RecordedUse recorded = {};
    StopUse stop = {};
    bool makes_descriptor = false;
};

// Names for the cells of the table.
namespace syscall_words {

using enum SyscallClass;
using Shows = StopUse::Shows;
using AccessKind = MemoryAccess::Kind;

// The kernel's structures that the C library lays out otherwise.
struct KernelSigaction {
    std::uint64_t handler, flags, restorer, mask;
};
using KernelSigset = std::uint64_t;
// No request of fcntl(2) writes more.
inline constexpr std::uint16_t max_fcntl_bytes = 64;

// Memory that a call uses. `pointer` is the number of an argument.
inline constexpr MemoryUse anything = {};
inline constexpr MemoryUse no_memory = {.is_known = true};
template <typename... Accesses>
constexpr MemoryUse uses(Accesses... accesses) {
    return {.is_known = true, .accesses = {accesses...}};
}
template <typename... Accesses>
constexpr MemoryUse uses_at_least(Accesses... accesses) {
    return {.is_known = true, .writes_more = true, .accesses = {accesses...}};
}
template <typename... Accesses>
constexpr MemoryUse layout(Accesses... accesses) {
    return {.is_known = true, .layout = true, .accesses = {accesses...}};
}
constexpr MemoryAccess writes(std::uint8_t pointer, std::uint16_t bytes) {
    return {AccessKind::fixed, pointer, 0, bytes};
}
template <typename Type>
constexpr MemoryAccess writes(std::uint8_t pointer) {
    return writes(pointer, sizeof(Type));
}
constexpr MemoryAccess result(std::uint8_t pointer, std::uint16_t each_bytes = 1) {
    return {AccessKind::result, pointer, 0, each_bytes};
}
template <typename Type>
constexpr MemoryAccess result_of(std::uint8_t pointer) {
    return result(pointer, sizeof(Type));
}
constexpr MemoryAccess result_within(std::uint8_t pointer, std::uint8_t most) {
    return {AccessKind::result, pointer, most, 1};
}
template <typename Type>
constexpr MemoryAccess array(std::uint8_t pointer, std::uint8_t count) {
    return {AccessKind::array, pointer, count, sizeof(Type)};
}
template <typename Type>
constexpr MemoryAccess in_out(std::uint8_t pointer, std::uint8_t count) {
    return {AccessKind::in_out, pointer, count, sizeof(Type)};
}
constexpr MemoryAccess placed(std::uint8_t size) {
    return {AccessKind::placed, 0, size, 1};
}
constexpr MemoryAccess vectors(std::uint8_t pointer, std::uint8_t count) {
    return {AccessKind::vectors, pointer, count, 0};
}
constexpr MemoryAccess address(std::uint8_t pointer, std::uint8_t size_pointer) {
    return {AccessKind::address, pointer, size_pointer, 0};
}
constexpr MemoryAccess message(std::uint8_t pointer) {
    return {AccessKind::message, pointer, 0, 0};
}
constexpr MemoryAccess messages(std::uint8_t pointer, std::uint8_t count) {
    return {AccessKind::messages, pointer, count, 0};
}
constexpr MemoryAccess set(std::uint8_t pointer) {
    return {AccessKind::set, pointer, 0, 0};
}
inline constexpr MemoryAccess ioctl_argument = {AccessKind::ioctl, 2, 1, 0};

// Recording.
inline constexpr RecordedUse not_recorded = {};
inline constexpr bool by_descriptor = true;
constexpr RecordedUse recorded(std::uint8_t compared, bool is_by_descriptor = false) {
    return {compared, -1, is_by_descriptor};
}
constexpr RecordedUse recorded_with_timeout(std::uint8_t compared, std::int8_t timeout) {
    return {compared, timeout, false};
}

// Stops.
constexpr StopUse shows(Shows when) {
    return {.shows = when};
}
constexpr StopUse eintr(Shows when = Shows::always) {
    return {.shows = when, .returns_eintr = true};
}
constexpr StopUse eintr_after(StopUse::Unit unit, std::uint8_t timeout, std::int16_t result) {
    return {
        .returns_eintr = true, .timeout_unit = unit, .timeout = timeout, .timeout_result = result};
}
inline constexpr auto milliseconds = StopUse::Unit::milliseconds;
inline constexpr auto timespec_pointer = StopUse::Unit::timespec;

inline constexpr bool makes_descriptor = true;

// Numbers and names are from arch/x86/entry/syscalls/syscall_64.tbl of Linux 6.18, sizes from the
// kernel's structures for x86-64 (include/uapi).
// clang-format off
inline constexpr SyscallRow rows[] = {
    {0, "read", input, sys_read, "regular files at the virtual offset; others as recorded",
     uses(result(1)), recorded(0b111, by_descriptor), eintr(Shows::in_sockets)},
    {1, "write", output, sys_write, "swallowed; files keep it for this sample",
     no_memory, not_recorded, eintr()},
    {2, "open", misc, sys_open, "existing files read, new ones in the sample only",
     no_memory, not_recorded, shows(Shows::never)},
    {3, "close", benign, sys_close, "the sample's descriptor table", no_memory},
    {4, "stat", benign, sys_stat, "size and times as the sample changed them",
     uses(writes<struct stat>(1))},
    {5, "fstat", benign, sys_fstat, "size and times as the sample changed them",
     uses(writes<struct stat>(1))},
    {6, "lstat", benign, sys_lstat, "as stat, links not followed", uses(writes<struct stat>(1))},
    {7, "poll", input, sys_poll, "as recorded; else files and output are ready",
     uses(in_out<pollfd>(0, 1)), recorded_with_timeout(0b11, 2), shows(Shows::never)},
    {8, "lseek", misc, sys_lseek, "the virtual offset", no_memory},
    {9, "mmap", misc, sys_mmap, "private to the sample; files filled from the environment",
     layout(array<char>(0, 1), placed(1))},
    {10, "mprotect", misc, sys_mprotect, "the sample's address space", layout()},
    {11, "munmap", benign, sys_munmap, "the sample's address space", layout(array<char>(0, 1))},
    {12, "brk", benign, sys_brk, "the sample's heap", layout()},
    {13, "rt_sigaction", misc, sys_rt_sigaction, "virtual; a handler set earlier is not known",
     uses(writes<KernelSigaction>(2))},
    {14, "rt_sigprocmask", misc, sys_rt_sigprocmask, "virtual mask", uses(writes<KernelSigset>(2))},
    {15, "rt_sigreturn", unsafe, nullptr, "the signal frame's registers are not restored",
     no_memory},
    {16, "ioctl", misc, sys_ioctl, "terminals' settings, descriptor flags; others end the sample",
     uses(ioctl_argument), recorded(0b111, by_descriptor)},
    {17, "pread64", input, sys_pread64, "regular files; others end the sample", uses(result(1))},
    {18, "pwrite64", output, sys_pwrite64, "swallowed; files keep it for this sample", no_memory},
    {19, "readv", input, sys_readv, "as read",
     uses(vectors(1, 2)), recorded(0b111, by_descriptor), eintr()},
    {20, "writev", output, sys_writev, "as write", no_memory, not_recorded, eintr()},
    {21, "access", benign, sys_access, "mode bits against the process's ids", no_memory},
    {22, "pipe", unsafe, nullptr, "makes a channel to other threads", uses(writes<int[2]>(0))},
    {23, "select", input, sys_select, "as poll",
     uses(set(1), set(2), set(3), writes<timeval>(4)),
     recorded(0b11111), eintr(Shows::in_timeout_4)},
    {24, "sched_yield", benign, sys_sched_yield, "other threads of the sample go first", no_memory},
    {25, "mremap", misc, sys_mremap, "the sample's address space",
     layout(array<char>(0, 1), placed(2))},
    {26, "msync", output, sys_swallow, "the sample's mappings reach no file", no_memory},
    {27, "mincore", unsafe, nullptr, "residency is not in the snapshot"},
    {28, "madvise", misc, sys_madvise, "MADV_DONTNEED zeroes private anonymous memory",
     layout(array<char>(0, 1))},
    {29, "shmget", unsafe, nullptr, "shared memory of other processes"},
    {30, "shmat", unsafe, nullptr, "shared memory of other processes"},
    {31, "shmctl", unsafe, nullptr, "shared memory of other processes"},
    {32, "dup", misc, sys_dup, "shares the virtual offset", no_memory},
    {33, "dup2", misc, sys_dup2, "shares the virtual offset", no_memory},
    {34, "pause", misc, sys_wait, "the thread would wait",
     no_memory, not_recorded, shows(Shows::never)},
    {35, "nanosleep", misc, sys_nanosleep, "the thread would wait",
     uses(writes<timespec>(1)), not_recorded, shows(Shows::in_rest_1)},
    {36, "getitimer", unsafe, nullptr, "timers are not in the snapshot",
     uses(writes<itimerval>(1))},
    {37, "alarm", output, sys_swallow, "no signal arrives in a sample", no_memory},
    {38, "setitimer", output, sys_setitimer, "no signal arrives in a sample",
     uses(writes<itimerval>(2))},
    {39, "getpid", benign, sys_getpid, "snapshot", no_memory},
    {40, "sendfile", output, sys_sendfile, "reads a regular file, output swallowed",
     uses(writes<off_t>(2))},
    {41, "socket", unsafe, nullptr, "makes a connection to others", no_memory},
    {42, "connect", unsafe, nullptr, "makes a connection to others",
     no_memory, not_recorded, eintr()},
    {43, "accept", input, sys_accept, "as recorded",
     uses(address(1, 2)), recorded(0b111), eintr(), makes_descriptor},
    {44, "sendto", output, sys_send, "swallowed, success assumed",
     no_memory, not_recorded, eintr()},
    {45, "recvfrom", input, sys_receive, "as recorded",
     uses(result_within(1, 2), address(4, 5)), recorded(0b111111), eintr()},
    {46, "sendmsg", output, sys_sendmsg, "swallowed, success assumed",
     no_memory, not_recorded, eintr()},
    {47, "recvmsg", input, sys_receive, "as recorded", uses(message(1)), recorded(0b111), eintr()},
    {48, "shutdown", output, sys_socket_output, "success assumed", no_memory},
    {49, "bind", unsafe, nullptr, "makes a connection to others", no_memory},
    {50, "listen", unsafe, nullptr, "makes a connection to others", no_memory},
    {51, "getsockname", input, sys_socket_state, "as recorded",
     uses(address(1, 2)), recorded(0b111)},
    {52, "getpeername", input, sys_socket_state, "as recorded",
     uses(address(1, 2)), recorded(0b111)},
    {53, "socketpair", unsafe, nullptr, "makes a connection to others", uses(writes<int[2]>(3))},
    {54, "setsockopt", output, sys_socket_output, "success assumed", no_memory},
    {55, "getsockopt", input, sys_socket_state, "as recorded",
     uses_at_least(address(3, 4)), recorded(0b11111)},
    {56, "clone", misc, sys_clone, "threads only"},
    {57, "fork", unsafe, nullptr, "starts a process", no_memory},
    {58, "vfork", unsafe, nullptr, "starts a process"},
    {59, "execve", unsafe, nullptr, "replaces the program"},
    {60, "exit", misc, sys_exit, "the thread ends"},
    {61, "wait4", misc, sys_wait, "the thread would wait for a child",
     uses(writes<int>(1), writes<rusage>(3)), not_recorded, shows(Shows::never)},
    {62, "kill", unsafe, nullptr, "signals a process", no_memory},
    {63, "uname", benign, sys_uname, "snapshot", uses(writes<utsname>(0))},
    {64, "semget", unsafe, nullptr, "semaphores of other processes"},
    {65, "semop", unsafe, nullptr, "semaphores of other processes",
     anything, not_recorded, eintr()},
    {66, "semctl", unsafe, nullptr, "semaphores of other processes"},
    {67, "shmdt", unsafe, nullptr, "shared memory of other processes"},
    {68, "msgget", unsafe, nullptr, "queues of other processes"},
    {69, "msgsnd", unsafe, nullptr, "queues of other processes",
     anything, not_recorded, shows(Shows::never)},
    {70, "msgrcv", unsafe, nullptr, "queues of other processes",
     anything, not_recorded, shows(Shows::never)},
    {71, "msgctl", unsafe, nullptr, "queues of other processes"},
    {72, "fcntl", misc, sys_fcntl, "descriptor and status flags; locks are assumed to succeed",
     uses(writes(2, max_fcntl_bytes)), not_recorded, shows(Shows::never)},
    {73, "flock", output, sys_descriptor_output, "success assumed",
     no_memory, not_recorded, shows(Shows::never)},
    {74, "fsync", output, sys_fsync, "success assumed", no_memory},
    {75, "fdatasync", output, sys_fsync, "success assumed", no_memory},
    {76, "truncate", output, sys_truncate, "the file shrinks or grows for this sample only",
     no_memory},
    {77, "ftruncate", output, sys_ftruncate, "the file shrinks or grows for this sample only",
     no_memory},
    {78, "getdents", input, sys_directory_input, "directory contents are not taken"},
    {79, "getcwd", benign, sys_getcwd, "snapshot", uses(result(0))},
    {80, "chdir", misc, sys_chdir, "the sample's working directory", no_memory},
    {81, "fchdir", misc, sys_fchdir, "the sample's working directory", no_memory},
    {82, "rename", output, sys_rename, "names change for this sample only", no_memory},
    {83, "mkdir", output, sys_mkdir, "names change for this sample only", no_memory},
    {84, "rmdir", output, sys_rmdir, "names change for this sample only", no_memory},
    {85, "creat", misc, sys_creat, "as open for writing", no_memory},
    {86, "link", output, sys_link, "names change for this sample only", no_memory},
    {87, "unlink", output, sys_unlink, "names change for this sample only", no_memory},
    {88, "symlink", output, sys_symlink, "names change for this sample only", no_memory},
    {89, "readlink", benign, sys_readlink, "from the environment", uses(result(1))},
    {90, "chmod", output, sys_path_output, "success assumed", no_memory},
    {91, "fchmod", output, sys_attribute_output, "success assumed; stat is then not known",
     no_memory},
    {92, "chown", output, sys_path_output, "success assumed", no_memory},
    {93, "fchown", output, sys_attribute_output, "success assumed; stat is then not known",
     no_memory},
    {94, "lchown", output, sys_path_output, "success assumed", no_memory},
    {95, "umask", misc, sys_umask, "virtual mask", no_memory},
    {96, "gettimeofday", benign, sys_gettimeofday, "snapshot and the time passed in the sample",
     uses(writes<timeval>(0), writes<struct timezone>(1))},
    {97, "getrlimit", benign, sys_getrlimit, "snapshot", uses(writes<rlimit>(1))},
    {98, "getrusage", benign, sys_getrusage, "snapshot and the time passed in the sample",
     uses(writes<rusage>(1))},
    {99, "sysinfo", benign, sys_sysinfo, "snapshot", uses(writes<struct sysinfo>(0))},
    {100, "times", benign, sys_times, "snapshot and the time passed in the sample",
     uses(writes<tms>(0))},
    {101, "ptrace", unsafe, nullptr, "acts on another process"},
    {102, "getuid", benign, sys_getuid, "snapshot", no_memory},
    {103, "syslog", unsafe, nullptr, "the kernel's log"},
    {104, "getgid", benign, sys_getgid, "snapshot", no_memory},
    {105, "setuid", unsafe, nullptr, "changes who the process is", no_memory},
    {106, "setgid", unsafe, nullptr, "changes who the process is", no_memory},
    {107, "geteuid", benign, sys_geteuid, "snapshot", no_memory},
    {108, "getegid", benign, sys_getegid, "snapshot", no_memory},
    {109, "setpgid", unsafe, nullptr, "moves a process between groups", no_memory},
    {110, "getppid", benign, sys_getppid, "snapshot", no_memory},
    {111, "getpgrp", benign, sys_getpgrp, "snapshot", no_memory},
    {112, "setsid", unsafe, nullptr, "moves a process between sessions", no_memory},
    {113, "setreuid", unsafe, nullptr, "changes who the process is", no_memory},
    {114, "setregid", unsafe, nullptr, "changes who the process is", no_memory},
    {115, "getgroups", benign, sys_getgroups, "snapshot", uses(array<gid_t>(1, 0))},
    {116, "setgroups", unsafe, nullptr, "changes who the process is", no_memory},
    {117, "setresuid", unsafe, nullptr, "changes who the process is", no_memory},
    {118, "getresuid", benign, sys_getresuid, "snapshot",
     uses(writes<uid_t>(0), writes<uid_t>(1), writes<uid_t>(2))},
    {119, "setresgid", unsafe, nullptr, "changes who the process is", no_memory},
    {120, "getresgid", benign, sys_getresgid, "snapshot",
     uses(writes<gid_t>(0), writes<gid_t>(1), writes<gid_t>(2))},
    {121, "getpgid", benign, sys_getpgid, "snapshot, of itself only", no_memory},
    {122, "setfsuid", unsafe, nullptr, "changes who the process is", no_memory},
    {123, "setfsgid", unsafe, nullptr, "changes who the process is", no_memory},
    {124, "getsid", benign, sys_getsid, "snapshot, of itself only", no_memory},
    {125, "capget", unsafe, nullptr, "capabilities are not in the snapshot"},
    {126, "capset", unsafe, nullptr, "changes what the process may do"},
    {127, "rt_sigpending", benign, sys_rt_sigpending, "snapshot", uses(writes<KernelSigset>(0))},
    {128, "rt_sigtimedwait", misc, sys_wait, "the thread would wait for a signal",
     anything, not_recorded, eintr_after(timespec_pointer, 2, -EAGAIN)},
    {129, "rt_sigqueueinfo", unsafe, nullptr, "signals a process"},
    {130, "rt_sigsuspend", misc, sys_wait, "the thread would wait for a signal",
     no_memory, not_recorded, shows(Shows::never)},
    {131, "sigaltstack", misc, sys_sigaltstack, "virtual; a stack set earlier is not known",
     uses(writes<stack_t>(1))},
    {132, "utime", output, sys_path_output, "success assumed", no_memory},
    {133, "mknod", unsafe, nullptr, "makes a device or pipe", no_memory},
    {134, "uselib", unsafe, nullptr, "loads a library"},
    {135, "personality", unsafe, nullptr, "personality is not in the snapshot"},
    {136, "ustat", unsafe, nullptr, "file system statistics are not taken"},
    {137, "statfs", unsafe, nullptr, "file system statistics are not taken",
     uses(writes<struct statfs>(1))},
    {138, "fstatfs", unsafe, nullptr, "file system statistics are not taken",
     uses(writes<struct statfs>(1))},
    {139, "sysfs", unsafe, nullptr, "file system types are not taken"},
    {140, "getpriority", benign, sys_getpriority, "snapshot, of itself only", no_memory},
    {141, "setpriority", output, sys_swallow, "success assumed", no_memory},
    {142, "sched_setparam", output, sys_swallow, "success assumed", no_memory},
    {143, "sched_getparam", benign, sys_sched_getparam, "snapshot, of itself only",
     uses(writes<sched_param>(1))},
    {144, "sched_setscheduler", output, sys_swallow, "success assumed", no_memory},
    {145, "sched_getscheduler", benign, sys_sched_getscheduler, "snapshot, of itself only",
     no_memory},
    {146, "sched_get_priority_max", benign, sys_sched_get_priority_max, "a constant of the policy",
     no_memory},
    {147, "sched_get_priority_min", benign, sys_sched_get_priority_min, "a constant of the policy",
     no_memory},
    {148, "sched_rr_get_interval", unsafe, nullptr, "scheduler state is not in the snapshot",
     uses(writes<timespec>(1))},
    {149, "mlock", output, sys_swallow, "success assumed", no_memory},
    {150, "munlock", output, sys_swallow, "success assumed", no_memory},
    {151, "mlockall", output, sys_swallow, "success assumed", no_memory},
    {152, "munlockall", output, sys_swallow, "success assumed", no_memory},
    {153, "vhangup", unsafe, nullptr, "acts on a terminal"},
    {154, "modify_ldt", unsafe, nullptr, "segment descriptors"},
    {155, "pivot_root", unsafe, nullptr, "changes mounts"},
    {156, "_sysctl", benign, sys_no_such_call, "removed from Linux"},
    {157, "prctl", misc, sys_prctl, "names and a few attributes"},
    {158, "arch_prctl", misc, sys_arch_prctl, "FS and GS base in the sample's registers",
     layout(writes<std::uint64_t>(1))},
    {159, "adjtimex", unsafe, nullptr, "the system's clock"},
    {160, "setrlimit", misc, sys_setrlimit, "virtual limits, but for the stack", no_memory},
    {161, "chroot", unsafe, nullptr, "changes how paths resolve"},
    {162, "sync", output, sys_swallow, "success assumed", no_memory},
    {163, "acct", unsafe, nullptr, "changes the system"},
    {164, "settimeofday", unsafe, nullptr, "the system's clock"},
    {165, "mount", unsafe, nullptr, "changes mounts"},
    {166, "umount2", unsafe, nullptr, "changes mounts"},
    {167, "swapon", unsafe, nullptr, "changes the system"},
    {168, "swapoff", unsafe, nullptr, "changes the system"},
    {169, "reboot", unsafe, nullptr, "changes the system"},
    {170, "sethostname", unsafe, nullptr, "changes the system"},
    {171, "setdomainname", unsafe, nullptr, "changes the system"},
    {172, "iopl", unsafe, nullptr, "access to ports"},
    {173, "ioperm", unsafe, nullptr, "access to ports"},
    {174, "create_module", benign, sys_no_such_call, "removed from Linux"},
    {175, "init_module", unsafe, nullptr, "changes the kernel"},
    {176, "delete_module", unsafe, nullptr, "changes the kernel"},
    {177, "get_kernel_syms", benign, sys_no_such_call, "removed from Linux"},
    {178, "query_module", benign, sys_no_such_call, "removed from Linux"},
    {179, "quotactl", unsafe, nullptr, "changes quotas"},
    {180, "nfsservctl", benign, sys_no_such_call, "removed from Linux"},
    {181, "getpmsg", benign, sys_no_such_call, "never implemented"},
    {182, "putpmsg", benign, sys_no_such_call, "never implemented"},
    {183, "afs_syscall", benign, sys_no_such_call, "never implemented"},
    {184, "tuxcall", benign, sys_no_such_call, "never implemented"},
    {185, "security", benign, sys_no_such_call, "never implemented"},
    {186, "gettid", benign, sys_gettid, "snapshot", no_memory},
    {187, "readahead", benign, sys_descriptor_output, "a hint", no_memory},
    {188, "setxattr", output, sys_path_output, "success assumed", no_memory},
    {189, "lsetxattr", output, sys_path_output, "success assumed", no_memory},
    {190, "fsetxattr", output, sys_descriptor_output, "success assumed", no_memory},
    {191, "getxattr", unsafe, nullptr, "attributes are not taken", uses(result(2))},
    {192, "lgetxattr", unsafe, nullptr, "attributes are not taken", uses(result(2))},
    {193, "fgetxattr", unsafe, nullptr, "attributes are not taken", uses(result(2))},
    {194, "listxattr", unsafe, nullptr, "attributes are not taken", uses(result(1))},
    {195, "llistxattr", unsafe, nullptr, "attributes are not taken", uses(result(1))},
    {196, "flistxattr", unsafe, nullptr, "attributes are not taken", uses(result(1))},
    {197, "removexattr", output, sys_path_output, "success assumed", no_memory},
    {198, "lremovexattr", output, sys_path_output, "success assumed", no_memory},
    {199, "fremovexattr", output, sys_descriptor_output, "success assumed", no_memory},
    {200, "tkill", unsafe, nullptr, "signals a thread"},
    {201, "time", benign, sys_time, "snapshot and the time passed in the sample",
     uses(writes<time_t>(0))},
    {202, "futex", misc, sys_futex, "among the threads of the sample",
     uses(writes<int>(0), writes<int>(4)), not_recorded, shows(Shows::in_other_futexes)},
    {203, "sched_setaffinity", output, sys_swallow, "success assumed", no_memory},
    {204, "sched_getaffinity", benign, sys_sched_getaffinity, "snapshot, of itself only",
     uses(result(2))},
    {205, "set_thread_area", benign, sys_no_such_call, "not on x86-64"},
    {206, "io_setup", unsafe, nullptr, "asynchronous input and output"},
    {207, "io_destroy", unsafe, nullptr, "asynchronous input and output"},
    {208, "io_getevents", unsafe, nullptr, "asynchronous input and output",
     anything, not_recorded, eintr_after(timespec_pointer, 4, 0)},
    {209, "io_submit", unsafe, nullptr, "asynchronous input and output"},
    {210, "io_cancel", unsafe, nullptr, "asynchronous input and output"},
    {211, "get_thread_area", benign, sys_no_such_call, "not on x86-64"},
    {212, "lookup_dcookie", unsafe, nullptr, "the kernel's profiler"},
    {213, "epoll_create", unsafe, nullptr, "waits for descriptors", no_memory},
    {214, "epoll_ctl_old", benign, sys_no_such_call, "never implemented"},
    {215, "epoll_wait_old", benign, sys_no_such_call, "never implemented",
     anything, not_recorded, eintr()},
    {216, "remap_file_pages", unsafe, nullptr, "nonlinear shared mapping"},
    {217, "getdents64", input, sys_directory_input, "directory contents are not taken",
     uses(result(1))},
    {218, "set_tid_address", misc, sys_set_tid_address, "returns the thread's id", no_memory},
    {219, "restart_syscall", unsafe, nullptr, "the interrupted call is not known",
     no_memory, not_recorded, shows(Shows::never)},
    {220, "semtimedop", unsafe, nullptr, "semaphores of other processes",
     anything, not_recorded, eintr_after(timespec_pointer, 3, -EAGAIN)},
    {221, "fadvise64", benign, sys_descriptor_output, "a hint", no_memory},
    {222, "timer_create", unsafe, nullptr, "timers are not in the snapshot",
     uses(writes<timer_t>(2))},
    {223, "timer_settime", unsafe, nullptr, "timers are not in the snapshot",
     uses(writes<itimerspec>(3))},
    {224, "timer_gettime", unsafe, nullptr, "timers are not in the snapshot",
     uses(writes<itimerspec>(1))},
    {225, "timer_getoverrun", unsafe, nullptr, "timers are not in the snapshot", no_memory},
    {226, "timer_delete", unsafe, nullptr, "timers are not in the snapshot", no_memory},
    {227, "clock_settime", unsafe, nullptr, "the system's clock"},
    {228, "clock_gettime", benign, sys_clock_gettime, "snapshot and the time passed in the sample",
     uses(writes<timespec>(1))},
    {229, "clock_getres", benign, sys_clock_getres, "constants", uses(writes<timespec>(1))},
    {230, "clock_nanosleep", misc, sys_clock_nanosleep, "the thread would wait",
     uses(writes<timespec>(3)), not_recorded, shows(Shows::in_rest_3)},
    {231, "exit_group", misc, sys_exit_group, "the program ends", no_memory},
    {232, "epoll_wait", input, sys_wait_for_input, "as recorded",
     uses(result_of<epoll_event>(1)), recorded_with_timeout(0b111, 3),
     eintr_after(milliseconds, 3, 0)},
    {233, "epoll_ctl", output, sys_epoll_ctl, "success assumed", no_memory},
    {234, "tgkill", unsafe, nullptr, "signals a thread", no_memory},
    {235, "utimes", output, sys_path_output, "success assumed", no_memory},
    {236, "vserver", benign, sys_no_such_call, "never implemented"},
    {237, "mbind", output, sys_swallow, "success assumed"},
    {238, "set_mempolicy", output, sys_swallow, "success assumed"},
    {239, "get_mempolicy", unsafe, nullptr, "memory policy is not in the snapshot"},
    {240, "mq_open", unsafe, nullptr, "queues of other processes"},
    {241, "mq_unlink", unsafe, nullptr, "queues of other processes"},
    {242, "mq_timedsend", unsafe, nullptr, "queues of other processes",
     anything, not_recorded, shows(Shows::never)},
    {243, "mq_timedreceive", unsafe, nullptr, "queues of other processes",
     anything, not_recorded, shows(Shows::never)},
    {244, "mq_notify", unsafe, nullptr, "queues of other processes"},
    {245, "mq_getsetattr", unsafe, nullptr, "queues of other processes"},
    {246, "kexec_load", unsafe, nullptr, "changes the system"},
    {247, "waitid", misc, sys_wait, "the thread would wait for a child",
     anything, not_recorded, shows(Shows::never)},
    {248, "add_key", unsafe, nullptr, "keys"},
    {249, "request_key", unsafe, nullptr, "keys"},
    {250, "keyctl", unsafe, nullptr, "keys"},
    {251, "ioprio_set", output, sys_swallow, "success assumed"},
    {252, "ioprio_get", unsafe, nullptr, "scheduler state is not in the snapshot"},
    {253, "inotify_init", unsafe, nullptr, "watches files", no_memory},
    {254, "inotify_add_watch", unsafe, nullptr, "watches files", no_memory},
    {255, "inotify_rm_watch", unsafe, nullptr, "watches files", no_memory},
    {256, "migrate_pages", unsafe, nullptr, "moves memory between nodes"},
    {257, "openat", misc, sys_openat, "existing files read, new ones in the sample only",
     no_memory, not_recorded, shows(Shows::never)},
    {258, "mkdirat", output, sys_mkdirat, "names change for this sample only", no_memory},
    {259, "mknodat", unsafe, nullptr, "makes a device or pipe", no_memory},
    {260, "fchownat", output, sys_path_output_at, "success assumed", no_memory},
    {261, "futimesat", output, sys_path_output_at, "success assumed", no_memory},
    {262, "newfstatat", benign, sys_newfstatat, "size and times as the sample changed them",
     uses(writes<struct stat>(2))},
    {263, "unlinkat", output, sys_unlinkat, "names change for this sample only", no_memory},
    {264, "renameat", output, sys_renameat, "names change for this sample only", no_memory},
    {265, "linkat", output, sys_linkat, "names change for this sample only", no_memory},
    {266, "symlinkat", output, sys_symlinkat, "names change for this sample only", no_memory},
    {267, "readlinkat", benign, sys_readlinkat, "from the environment", uses(result(2))},
    {268, "fchmodat", output, sys_path_output_at, "success assumed", no_memory},
    {269, "faccessat", benign, sys_faccessat, "mode bits against the process's ids", no_memory},
    {270, "pselect6", input, sys_select, "as poll",
     uses(set(1), set(2), set(3), writes<timespec>(4)),
     recorded(0b111111), eintr(Shows::in_timeout_4)},
    {271, "ppoll", input, sys_ppoll, "as poll",
     uses(in_out<pollfd>(0, 1), writes<timespec>(2)), recorded(0b1111), eintr(Shows::in_timeout_2)},
    {272, "unshare", unsafe, nullptr, "changes namespaces"},
    {273, "set_robust_list", misc, sys_set_robust_list, "acts at the thread's end only", no_memory},
    {274, "get_robust_list", unsafe, nullptr, "the list's head is not in the snapshot"},
    {275, "splice", unsafe, nullptr, "moves data between pipes"},
    {276, "tee", unsafe, nullptr, "moves data between pipes"},
    {277, "sync_file_range", output, sys_descriptor_output, "success assumed", no_memory},
    {278, "vmsplice", unsafe, nullptr, "moves data between pipes"},
    {279, "move_pages", unsafe, nullptr, "moves memory between nodes"},
    {280, "utimensat", output, sys_utimensat, "success assumed", no_memory},
    {281, "epoll_pwait", input, sys_wait_for_input, "as recorded",
     uses(result_of<epoll_event>(1)), recorded_with_timeout(0b10111, 3),
     eintr_after(milliseconds, 3, 0)},
    {282, "signalfd", unsafe, nullptr, "signals as input", no_memory},
    {283, "timerfd_create", unsafe, nullptr, "timers as input", no_memory},
    {284, "eventfd", unsafe, nullptr, "a counter shared with other threads", no_memory},
    {285, "fallocate", output, sys_fallocate, "the file grows for this sample only", no_memory},
    {286, "timerfd_settime", unsafe, nullptr, "timers as input", uses(writes<itimerspec>(3))},
    {287, "timerfd_gettime", unsafe, nullptr, "timers as input", uses(writes<itimerspec>(1))},
    {288, "accept4", input, sys_accept, "as recorded",
     uses(address(1, 2)), recorded(0b1111), eintr(), makes_descriptor},
    {289, "signalfd4", unsafe, nullptr, "signals as input", no_memory},
    {290, "eventfd2", unsafe, nullptr, "a counter shared with other threads", no_memory},
    {291, "epoll_create1", unsafe, nullptr, "waits for descriptors", no_memory},
    {292, "dup3", misc, sys_dup3, "shares the virtual offset", no_memory},
    {293, "pipe2", unsafe, nullptr, "makes a channel to other threads", uses(writes<int[2]>(0))},
    {294, "inotify_init1", unsafe, nullptr, "watches files", no_memory},
    {295, "preadv", input, sys_preadv, "as pread64", uses(vectors(1, 2))},
    {296, "pwritev", output, sys_pwritev, "as pwrite64", no_memory},
    {297, "rt_tgsigqueueinfo", unsafe, nullptr, "signals a thread"},
    {298, "perf_event_open", unsafe, nullptr, "hardware counters"},
    {299, "recvmmsg", input, sys_receive, "as recorded",
     uses(messages(1, 2), writes<timespec>(4)), recorded(0b11111), eintr()},
    {300, "fanotify_init", unsafe, nullptr, "watches files"},
    {301, "fanotify_mark", unsafe, nullptr, "watches files"},
    {302, "prlimit64", misc, sys_prlimit64, "virtual limits, of itself only",
     uses(writes<rlimit>(3))},
    {303, "name_to_handle_at", unsafe, nullptr, "file handles"},
    {304, "open_by_handle_at", unsafe, nullptr, "file handles"},
    {305, "clock_adjtime", unsafe, nullptr, "the system's clock"},
    {306, "syncfs", output, sys_descriptor_output, "success assumed", no_memory},
    {307, "sendmmsg", output, sys_sendmmsg, "swallowed, success assumed",
     anything, not_recorded, eintr()},
    {308, "setns", unsafe, nullptr, "changes namespaces"},
    {309, "getcpu", benign, sys_getcpu, "snapshot", uses(writes<unsigned>(0), writes<unsigned>(1))},
    {310, "process_vm_readv", unsafe, nullptr, "acts on another process"},
    {311, "process_vm_writev", unsafe, nullptr, "acts on another process"},
    {312, "kcmp", unsafe, nullptr, "looks at another process"},
    {313, "finit_module", unsafe, nullptr, "changes the kernel"},
    {314, "sched_setattr", output, sys_swallow, "success assumed"},
    {315, "sched_getattr", unsafe, nullptr, "scheduler state is not in the snapshot"},
    {316, "renameat2", output, sys_renameat2, "names change for this sample only", no_memory},
    {317, "seccomp", unsafe, nullptr, "changes what the process may do"},
    {318, "getrandom", benign, sys_getrandom, "pseudo-random by the sample's seed",
     uses(result(0))},
    {319, "memfd_create", misc, sys_memfd_create, "a file in the sample only", no_memory},
    {320, "kexec_file_load", unsafe, nullptr, "changes the system"},
    {321, "bpf", unsafe, nullptr, "programs in the kernel"},
    {322, "execveat", unsafe, nullptr, "replaces the program"},
    {323, "userfaultfd", unsafe, nullptr, "page faults as input"},
    {324, "membarrier", misc, sys_membarrier, "threads are emulated one at a time"},
    {325, "mlock2", output, sys_swallow, "success assumed", no_memory},
    {326, "copy_file_range", output, sys_copy_file_range, "as sendfile",
     uses(writes<off_t>(1), writes<off_t>(3))},
    {327, "preadv2", input, sys_preadv2, "as pread64",
     uses(vectors(1, 2)), recorded(0b111111, by_descriptor)},
    {328, "pwritev2", output, sys_pwritev2, "as pwrite64", no_memory},
    {329, "pkey_mprotect", misc, sys_pkey_mprotect, "without a key as mprotect"},
    {330, "pkey_alloc", unsafe, nullptr, "protection keys"},
    {331, "pkey_free", unsafe, nullptr, "protection keys"},
    {332, "statx", benign, sys_statx, "size and times as the sample changed them",
     uses(writes<struct statx>(4))},
    {333, "io_pgetevents", unsafe, nullptr, "asynchronous input and output",
     anything, not_recorded, eintr_after(timespec_pointer, 4, 0)},
    {334, "rseq", misc, sys_rseq, "registration in the sample", uses(array<char>(0, 1))},
    {335, "uretprobe", unsafe, nullptr, "of the kernel's own trampolines"},
    {336, "uprobe", unsafe, nullptr, "of the kernel's own trampolines"},
    {424, "pidfd_send_signal", unsafe, nullptr, "signals a process"},
    {425, "io_uring_setup", unsafe, nullptr, "asynchronous input and output"},
    {426, "io_uring_enter", unsafe, nullptr, "asynchronous input and output",
     anything, not_recorded, eintr()},
    {427, "io_uring_register", unsafe, nullptr, "asynchronous input and output"},
    {428, "open_tree", unsafe, nullptr, "changes mounts"},
    {429, "move_mount", unsafe, nullptr, "changes mounts"},
    {430, "fsopen", unsafe, nullptr, "changes mounts"},
    {431, "fsconfig", unsafe, nullptr, "changes mounts"},
    {432, "fsmount", unsafe, nullptr, "changes mounts"},
    {433, "fspick", unsafe, nullptr, "changes mounts"},
    {434, "pidfd_open", unsafe, nullptr, "a handle of a process"},
    {435, "clone3", misc, sys_clone3, "threads only"},
    {436, "close_range", benign, sys_close_range, "the sample's descriptor table", no_memory},
    {437, "openat2", misc, sys_openat2, "as openat, without restrictions on resolving", no_memory},
    {438, "pidfd_getfd", unsafe, nullptr, "acts on another process"},
    {439, "faccessat2", benign, sys_faccessat2, "mode bits against the process's ids", no_memory},
    {440, "process_madvise", unsafe, nullptr, "acts on another process"},
    {441, "epoll_pwait2", input, sys_wait_for_input, "as recorded",
     uses(result_of<epoll_event>(1)), recorded(0b11111), eintr_after(timespec_pointer, 3, 0)},
    {442, "mount_setattr", unsafe, nullptr, "changes mounts"},
    {443, "quotactl_fd", unsafe, nullptr, "changes quotas"},
    {444, "landlock_create_ruleset", unsafe, nullptr, "changes what the process may do"},
    {445, "landlock_add_rule", unsafe, nullptr, "changes what the process may do"},
    {446, "landlock_restrict_self", unsafe, nullptr, "changes what the process may do"},
    {447, "memfd_secret", unsafe, nullptr, "memory that cannot be read"},
    {448, "process_mrelease", unsafe, nullptr, "acts on another process"},
    {449, "futex_waitv", misc, sys_wait, "the thread would wait"},
    {450, "set_mempolicy_home_node", output, sys_swallow, "success assumed"},
    {451, "cachestat", unsafe, nullptr, "the page cache is not in the snapshot"},
    {452, "fchmodat2", output, sys_path_output_at, "success assumed", no_memory},
    {453, "map_shadow_stack", unsafe, nullptr, "shadow stacks"},
    {454, "futex_wake", misc, sys_futex_wake, "among the threads of the sample"},
    {455, "futex_wait", misc, sys_futex_wait, "among the threads of the sample"},
    {456, "futex_requeue", unsafe, nullptr, "a futex operation"},
    {457, "statmount", unsafe, nullptr, "mounts are not in the snapshot"},
    {458, "listmount", unsafe, nullptr, "mounts are not in the snapshot"},
    {459, "lsm_get_self_attr", unsafe, nullptr, "security attributes are not in the snapshot"},
    {460, "lsm_set_self_attr", unsafe, nullptr, "changes what the process may do"},
    {461, "lsm_list_modules", unsafe, nullptr, "security attributes are not in the snapshot"},
    {462, "mseal", unsafe, nullptr, "seals mappings"},
    {463, "setxattrat", output, sys_path_output_at, "success assumed"},
    {464, "getxattrat", unsafe, nullptr, "attributes are not taken"},
    {465, "listxattrat", unsafe, nullptr, "attributes are not taken"},
    {466, "removexattrat", output, sys_path_output_at, "success assumed"},
    {467, "open_tree_attr", unsafe, nullptr, "changes mounts"},
    {468, "file_getattr", unsafe, nullptr, "attributes are not taken"},
    {469, "file_setattr", output, sys_path_output_at, "success assumed"},
};
// clang-format on

}  // namespace syscall_words

inline constexpr std::span<const SyscallRow> syscall_rows = syscall_words::rows;

}  // namespace shadowprof
