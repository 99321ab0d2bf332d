// Functions that emulate system calls, grouped by the files of guest_kernel/ that define them. Each
// emulates its call on the sample's state, as the kernel's manual page describes it.
#pragma once

namespace shadowprof {

struct SyscallCall;
struct SyscallOutcome;

// io.cc
SyscallOutcome sys_read(SyscallCall& call);
SyscallOutcome sys_write(SyscallCall& call);
SyscallOutcome sys_pread64(SyscallCall& call);
SyscallOutcome sys_pwrite64(SyscallCall& call);
SyscallOutcome sys_readv(SyscallCall& call);
SyscallOutcome sys_writev(SyscallCall& call);
SyscallOutcome sys_preadv(SyscallCall& call);
SyscallOutcome sys_pwritev(SyscallCall& call);
SyscallOutcome sys_preadv2(SyscallCall& call);
SyscallOutcome sys_pwritev2(SyscallCall& call);
SyscallOutcome sys_sendfile(SyscallCall& call);
SyscallOutcome sys_copy_file_range(SyscallCall& call);

// descriptors.cc
SyscallOutcome sys_close(SyscallCall& call);
SyscallOutcome sys_close_range(SyscallCall& call);
SyscallOutcome sys_dup(SyscallCall& call);
SyscallOutcome sys_dup2(SyscallCall& call);
SyscallOutcome sys_dup3(SyscallCall& call);
SyscallOutcome sys_fcntl(SyscallCall& call);
SyscallOutcome sys_lseek(SyscallCall& call);
SyscallOutcome sys_ioctl(SyscallCall& call);
SyscallOutcome sys_ftruncate(SyscallCall& call);
SyscallOutcome sys_fallocate(SyscallCall& call);
SyscallOutcome sys_fsync(SyscallCall& call);
SyscallOutcome sys_descriptor_output(SyscallCall& call);
SyscallOutcome sys_attribute_output(SyscallCall& call);
SyscallOutcome sys_directory_input(SyscallCall& call);
SyscallOutcome sys_memfd_create(SyscallCall& call);

// open.cc
SyscallOutcome sys_open(SyscallCall& call);
SyscallOutcome sys_openat(SyscallCall& call);
SyscallOutcome sys_openat2(SyscallCall& call);
SyscallOutcome sys_creat(SyscallCall& call);

// status.cc
SyscallOutcome sys_stat(SyscallCall& call);
SyscallOutcome sys_lstat(SyscallCall& call);
SyscallOutcome sys_fstat(SyscallCall& call);
SyscallOutcome sys_newfstatat(SyscallCall& call);
SyscallOutcome sys_statx(SyscallCall& call);
SyscallOutcome sys_access(SyscallCall& call);
SyscallOutcome sys_faccessat(SyscallCall& call);
SyscallOutcome sys_faccessat2(SyscallCall& call);
SyscallOutcome sys_readlink(SyscallCall& call);
SyscallOutcome sys_readlinkat(SyscallCall& call);
SyscallOutcome sys_getcwd(SyscallCall& call);
SyscallOutcome sys_chdir(SyscallCall& call);
SyscallOutcome sys_fchdir(SyscallCall& call);

// names.cc
SyscallOutcome sys_rename(SyscallCall& call);
SyscallOutcome sys_renameat(SyscallCall& call);
SyscallOutcome sys_renameat2(SyscallCall& call);
SyscallOutcome sys_mkdir(SyscallCall& call);
SyscallOutcome sys_mkdirat(SyscallCall& call);
SyscallOutcome sys_rmdir(SyscallCall& call);
SyscallOutcome sys_link(SyscallCall& call);
SyscallOutcome sys_linkat(SyscallCall& call);
SyscallOutcome sys_unlink(SyscallCall& call);
SyscallOutcome sys_unlinkat(SyscallCall& call);
SyscallOutcome sys_symlink(SyscallCall& call);
SyscallOutcome sys_symlinkat(SyscallCall& call);
SyscallOutcome sys_truncate(SyscallCall& call);
SyscallOutcome sys_path_output(SyscallCall& call);
SyscallOutcome sys_path_output_at(SyscallCall& call);
SyscallOutcome sys_utimensat(SyscallCall& call);

// sockets.cc
SyscallOutcome sys_send(SyscallCall& call);
SyscallOutcome sys_sendmsg(SyscallCall& call);
SyscallOutcome sys_sendmmsg(SyscallCall& call);
SyscallOutcome sys_receive(SyscallCall& call);
SyscallOutcome sys_accept(SyscallCall& call);
SyscallOutcome sys_socket_state(SyscallCall& call);
SyscallOutcome sys_socket_output(SyscallCall& call);

// memory.cc
SyscallOutcome sys_mmap(SyscallCall& call);
SyscallOutcome sys_munmap(SyscallCall& call);
SyscallOutcome sys_mprotect(SyscallCall& call);
SyscallOutcome sys_pkey_mprotect(SyscallCall& call);
SyscallOutcome sys_brk(SyscallCall& call);

// remap.cc
SyscallOutcome sys_mremap(SyscallCall& call);
SyscallOutcome sys_madvise(SyscallCall& call);

// signals.cc
SyscallOutcome sys_rt_sigaction(SyscallCall& call);
SyscallOutcome sys_rt_sigprocmask(SyscallCall& call);
SyscallOutcome sys_rt_sigpending(SyscallCall& call);
SyscallOutcome sys_sigaltstack(SyscallCall& call);

// identity.cc
SyscallOutcome sys_getpid(SyscallCall& call);
SyscallOutcome sys_gettid(SyscallCall& call);
SyscallOutcome sys_getppid(SyscallCall& call);
SyscallOutcome sys_getuid(SyscallCall& call);
SyscallOutcome sys_geteuid(SyscallCall& call);
SyscallOutcome sys_getgid(SyscallCall& call);
SyscallOutcome sys_getegid(SyscallCall& call);
SyscallOutcome sys_getresuid(SyscallCall& call);
SyscallOutcome sys_getresgid(SyscallCall& call);
SyscallOutcome sys_getgroups(SyscallCall& call);
SyscallOutcome sys_getpgid(SyscallCall& call);
SyscallOutcome sys_getpgrp(SyscallCall& call);
SyscallOutcome sys_getsid(SyscallCall& call);

// process.cc
SyscallOutcome sys_uname(SyscallCall& call);
SyscallOutcome sys_umask(SyscallCall& call);
SyscallOutcome sys_getrlimit(SyscallCall& call);
SyscallOutcome sys_setrlimit(SyscallCall& call);
SyscallOutcome sys_prlimit64(SyscallCall& call);
SyscallOutcome sys_getrusage(SyscallCall& call);
SyscallOutcome sys_sysinfo(SyscallCall& call);
SyscallOutcome sys_getpriority(SyscallCall& call);
SyscallOutcome sys_sched_getaffinity(SyscallCall& call);
SyscallOutcome sys_sched_getparam(SyscallCall& call);
SyscallOutcome sys_sched_getscheduler(SyscallCall& call);
SyscallOutcome sys_sched_get_priority_max(SyscallCall& call);
SyscallOutcome sys_sched_get_priority_min(SyscallCall& call);
SyscallOutcome sys_getcpu(SyscallCall& call);
SyscallOutcome sys_getrandom(SyscallCall& call);
SyscallOutcome sys_prctl(SyscallCall& call);
SyscallOutcome sys_arch_prctl(SyscallCall& call);
SyscallOutcome sys_set_robust_list(SyscallCall& call);
SyscallOutcome sys_rseq(SyscallCall& call);
SyscallOutcome sys_membarrier(SyscallCall& call);

// threads.cc
SyscallOutcome sys_clone(SyscallCall& call);
SyscallOutcome sys_clone3(SyscallCall& call);
SyscallOutcome sys_exit(SyscallCall& call);
SyscallOutcome sys_exit_group(SyscallCall& call);
SyscallOutcome sys_sched_yield(SyscallCall& call);
SyscallOutcome sys_set_tid_address(SyscallCall& call);

// futex.cc
SyscallOutcome sys_futex(SyscallCall& call);
SyscallOutcome sys_futex_wait(SyscallCall& call);
SyscallOutcome sys_futex_wake(SyscallCall& call);

// time.cc
SyscallOutcome sys_clock_gettime(SyscallCall& call);
SyscallOutcome sys_clock_getres(SyscallCall& call);
SyscallOutcome sys_gettimeofday(SyscallCall& call);
SyscallOutcome sys_time(SyscallCall& call);
SyscallOutcome sys_times(SyscallCall& call);
SyscallOutcome sys_setitimer(SyscallCall& call);

// wait.cc
SyscallOutcome sys_nanosleep(SyscallCall& call);
SyscallOutcome sys_clock_nanosleep(SyscallCall& call);
SyscallOutcome sys_poll(SyscallCall& call);
SyscallOutcome sys_ppoll(SyscallCall& call);
SyscallOutcome sys_select(SyscallCall& call);
SyscallOutcome sys_wait(SyscallCall& call);
SyscallOutcome sys_wait_for_input(SyscallCall& call);
SyscallOutcome sys_epoll_ctl(SyscallCall& call);

// syscall_emulator.cc
SyscallOutcome sys_swallow(SyscallCall& call);
SyscallOutcome sys_no_such_call(SyscallCall& call);

}  // namespace shadowprof
