#include "shadow/exact/kernel_writes.h"

#include <asm/unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <limits>

namespace shadowprof {
namespace {

// How many bytes are written behind a pointer.
enum class Size : std::uint8_t {
    none,
    fixed,      // `amount`
    result,     // what the call returned, `amount` bytes each
    argument0,  // as often as the argument says, `amount` bytes each
    argument1,
};

struct Write {
    Size size = Size::none;
    std::uint8_t pointer = 0;  // which argument
    std::uint16_t amount = 0;
};

constexpr Write fixed(std::uint8_t pointer, std::uint16_t bytes) {
    return {Size::fixed, pointer, bytes};
}
constexpr Write result(std::uint8_t pointer, std::uint16_t each = 1) {
    return {Size::result, pointer, each};
}

struct WriteRow {
    std::uint16_t number;
    std::array<Write, 4> writes = {};
    bool layout = false;
};

constexpr WriteRow layout(std::uint16_t number, Write write = {}) {
    return {number, {write}, true};
}

// Calls that write nothing have a row of their own, so that one that is missing is not known.
// Sizes: the kernel's structures for x86-64 (include/uapi).
constexpr WriteRow write_rows[] = {
    {__NR_read, {result(1)}},
    {__NR_write},
    {__NR_open},
    {__NR_close},
    {__NR_stat, {fixed(1, 144)}},
    {__NR_fstat, {fixed(1, 144)}},
    {__NR_lstat, {fixed(1, 144)}},
    {__NR_poll, {Write{Size::argument1, 0, 8}}},
    {__NR_lseek},
    // mmap: what is mapped over is no longer shown alike, or it is the same file at the same place.
    layout(__NR_mmap, {Size::argument1, 0, 1}),
    layout(__NR_mprotect),
    layout(__NR_munmap, {Size::argument1, 0, 1}),
    layout(__NR_brk),
    layout(__NR_mremap, {Size::argument1, 0, 1}),
    {__NR_rt_sigaction, {fixed(2, 32)}},
    {__NR_rt_sigprocmask, {fixed(2, 8)}},
    {__NR_rt_sigreturn},
    {__NR_pread64, {result(1)}},
    {__NR_pwrite64},
    {__NR_writev},
    {__NR_access},
    {__NR_pipe, {fixed(0, 8)}},
    {__NR_select, {fixed(1, 128), fixed(2, 128), fixed(3, 128), fixed(4, 16)}},
    {__NR_sched_yield},
    layout(__NR_madvise, {Size::argument1, 0, 1}),
    {__NR_dup},
    {__NR_dup2},
    {__NR_pause},
    {__NR_nanosleep, {fixed(1, 16)}},
    {__NR_getitimer, {fixed(1, 32)}},
    {__NR_alarm},
    {__NR_setitimer, {fixed(2, 32)}},
    {__NR_getpid},
    {__NR_sendfile, {fixed(2, 8)}},
    {__NR_socket},
    {__NR_connect},
    {__NR_sendto},
    {__NR_sendmsg},
    {__NR_shutdown},
    {__NR_bind},
    {__NR_listen},
    {__NR_socketpair, {fixed(3, 8)}},
    {__NR_setsockopt},
    {__NR_fork},
    {__NR_wait4, {fixed(1, 4), fixed(3, 144)}},
    {__NR_kill},
    {__NR_uname, {fixed(0, 390)}},
    {__NR_fcntl, {fixed(2, 64)}},
    {__NR_flock},
    {__NR_fsync},
    {__NR_fdatasync},
    {__NR_ftruncate},
    {__NR_getcwd, {result(0)}},
    {__NR_chdir},
    {__NR_fchdir},
    {__NR_rename},
    {__NR_mkdir},
    {__NR_rmdir},
    {__NR_link},
    {__NR_unlink},
    {__NR_symlink},
    {__NR_readlink, {result(1)}},
    {__NR_chmod},
    {__NR_fchmod},
    {__NR_chown},
    {__NR_fchown},
    {__NR_umask},
    {__NR_gettimeofday, {fixed(0, 16), fixed(1, 8)}},
    {__NR_getrlimit, {fixed(1, 16)}},
    {__NR_getrusage, {fixed(1, 144)}},
    {__NR_sysinfo, {fixed(0, 112)}},
    {__NR_times, {fixed(0, 32)}},
    {__NR_getuid},
    {__NR_getgid},
    {__NR_geteuid},
    {__NR_getegid},
    {__NR_getppid},
    {__NR_getpgrp},
    {__NR_setsid},
    {__NR_getgroups, {Write{Size::argument0, 1, 4}}},
    {__NR_getresuid, {fixed(0, 4), fixed(1, 4), fixed(2, 4)}},
    {__NR_getresgid, {fixed(0, 4), fixed(1, 4), fixed(2, 4)}},
    {__NR_getpgid},
    {__NR_getsid},
    {__NR_rt_sigpending, {fixed(0, 8)}},
    {__NR_rt_sigsuspend},
    {__NR_sigaltstack, {fixed(1, 24)}},
    {__NR_statfs, {fixed(1, 120)}},
    {__NR_fstatfs, {fixed(1, 120)}},
    {__NR_arch_prctl, {fixed(1, 8)}},
    {__NR_setrlimit},
    {__NR_gettid},
    {__NR_time, {fixed(0, 8)}},
    {__NR_futex, {fixed(0, 4), fixed(4, 4)}},
    {__NR_sched_getaffinity, {result(2)}},
    {__NR_getdents64, {result(1)}},
    {__NR_set_tid_address},
    {__NR_restart_syscall},
    {__NR_fadvise64},
    {__NR_timer_create, {fixed(2, 8)}},
    {__NR_timer_settime, {fixed(3, 32)}},
    {__NR_timer_gettime, {fixed(1, 32)}},
    {__NR_timer_delete},
    {__NR_clock_gettime, {fixed(1, 16)}},
    {__NR_clock_getres, {fixed(1, 16)}},
    {__NR_clock_nanosleep, {fixed(3, 16)}},
    {__NR_exit_group},
    {__NR_epoll_wait, {result(1, 12)}},
    {__NR_epoll_ctl},
    {__NR_tgkill},
    {__NR_openat},
    {__NR_mkdirat},
    {__NR_newfstatat, {fixed(2, 144)}},
    {__NR_unlinkat},
    {__NR_renameat},
    {__NR_readlinkat, {result(2)}},
    {__NR_fchmodat},
    {__NR_faccessat},
    {__NR_pselect6, {fixed(1, 128), fixed(2, 128), fixed(3, 128), fixed(4, 16)}},
    {__NR_ppoll, {Write{Size::argument1, 0, 8}, fixed(2, 16)}},
    {__NR_set_robust_list},
    {__NR_utimensat},
    {__NR_epoll_pwait, {result(1, 12)}},
    {__NR_fallocate},
    {__NR_eventfd2},
    {__NR_epoll_create1},
    {__NR_dup3},
    {__NR_pipe2, {fixed(0, 8)}},
    {__NR_prlimit64, {fixed(3, 16)}},
    {__NR_getcpu, {fixed(0, 4), fixed(1, 4)}},
    {__NR_renameat2},
    {__NR_getrandom, {result(0)}},
    {__NR_copy_file_range, {fixed(1, 8), fixed(3, 8)}},
    {__NR_statx, {fixed(4, 256)}},
    {__NR_rseq, {fixed(0, 32)}},
    {439 /* faccessat2 */},
};

const WriteRow* find_row(std::uint64_t number) {
    const auto* row = std::find_if(std::begin(write_rows), std::end(write_rows),
                                   [&](const WriteRow& each) { return each.number == number; });
    return row == std::end(write_rows) ? nullptr : row;
}

// Those that terminals and files are asked; what others write depends on the device.
std::uint64_t bytes_of_ioctl(std::uint64_t request) {
    constexpr std::uint64_t terminal_settings = 0x5401;  // TCGETS
    constexpr std::uint64_t no_others[] = {terminal_settings, TIOCGWINSZ, TIOCGPGRP, FIONREAD,
                                           FIONBIO,           FIOCLEX,    FIONCLEX};
    const bool known =
        std::find(std::begin(no_others), std::end(no_others), request) != std::end(no_others);
    return known ? 64 : 0;
}

bool has_failed(const PassedSyscall& call) {
    return call.result > std::uint64_t(-4096);
}

std::uint64_t bytes_of(const Write& write, const PassedSyscall& call) {
    switch (write.size) {
        case Size::none:
            return 0;
        case Size::fixed:
            return write.amount;
        case Size::result:
            return has_failed(call) ? 0 : call.result * write.amount;
        case Size::argument0:
            return call.arguments[0] * write.amount;
        case Size::argument1:
            return call.arguments[1] * write.amount;
    }
    return 0;
}

void add(GuestAddress start, std::uint64_t bytes, std::vector<MemoryRange>& ranges) {
    if (bytes == 0) return;
    const auto room = std::numeric_limits<std::uint64_t>::max() - start.value;
    ranges.push_back({start, start + std::min(bytes, room)});
}

}  // namespace

PassedSyscall entered_call(const user_regs_struct& r) {
    return {r.orig_rax, {r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9}, 0};
}

bool hides_memory(const PassedSyscall& call) {
    constexpr std::array ends = {__NR_exit,  __NR_exit_group, __NR_execve, __NR_execveat,
                                 __NR_clone, __NR_clone3,     __NR_vfork,  __NR_kill,
                                 __NR_tkill, __NR_tgkill};
    if (std::find(ends.begin(), ends.end(), static_cast<int>(call.number)) != ends.end())
        return true;
    if (call.number == __NR_mmap) return (call.arguments[3] & MAP_FIXED) != 0;
    return writes_of(call).layout;
}

KernelWrites writes_of(const PassedSyscall& call) {
    KernelWrites writes;
    if (call.number == __NR_ioctl) {
        const auto bytes = bytes_of_ioctl(call.arguments[1]);
        if (bytes == 0) return {{MemoryRange::all()}, true};
        add({call.arguments[2]}, bytes, writes.ranges);
        return writes;
    }
    const auto* row = find_row(call.number);
    if (!row) return {{MemoryRange::all()}, true};
    for (const auto& write : row->writes)
        add({call.arguments[write.pointer]}, bytes_of(write, call), writes.ranges);
    writes.layout = row->layout;
    // Where the kernel chose the place, or grew into.
    if (has_failed(call)) return writes;
    if (call.number == __NR_mmap) add({call.result}, call.arguments[1], writes.ranges);
    if (call.number == __NR_mremap) add({call.result}, call.arguments[2], writes.ranges);
    return writes;
}

}  // namespace shadowprof
