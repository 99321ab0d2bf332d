// Filters of system calls.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "child.h"

#define ON_X86_64                                                            \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),        \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),                 \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

// To be used after ON_X86_64.
#define ANSWER_TO(call, action) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, (action))

#define ANSWER_TO_OTHERS(action) BPF_STMT(BPF_RET | BPF_K, (action))

// Puts a filter on the calling thread. Returns a descriptor if FLAGS ask for one.
static inline int install_filter(struct sock_filter* code, size_t length, unsigned flags) {
    const struct sock_fprog program = {.len = (unsigned short)length, .filter = code};
    CALL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    const long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (result < 0) skip("filters are refused");
    return (int)result;
}

#define INSTALL(flags, ...)                                                             \
    ({                                                                                  \
        struct sock_filter filter_code[] = {__VA_ARGS__};                               \
        install_filter(filter_code, sizeof filter_code / sizeof *filter_code, (flags)); \
    })
