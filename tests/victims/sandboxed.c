// Computes under restrictions that forbid it to fork, and notices harm as checksum does: each round
// is undone and compared. argv: RESTRICTION [rounds, 0: until SIGTERM] [PATH]
//   errno   a seccomp filter answers clone, clone3, fork and vfork with EPERM
//   kill    a seccomp filter kills the process for these calls
//   others  all threads but the main one have the filter of `kill`
//   strict  seccomp's strict mode: system calls other than read, write, exit and sigreturn kill.
//           argv[3] is a file of at least 8 bytes, which is mapped: the computation ends when
//           its first byte is not 0
//   nproc   RLIMIT_NPROC is reached; for an ordinary user
//   none
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { words = 1 << 14 };
static uint64_t memory[words];
static volatile sig_atomic_t told_to_end;
static const volatile unsigned char* end_mark;

static void on_term(int signal) {
    (void)signal;
    told_to_end = 1;
}

static int filter_forks(uint32_t verdict) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, verdict),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void* wait_filtered(void* filtered) {
    *(volatile int*)filtered = filter_forks(SECCOMP_RET_KILL_PROCESS) ? 1 : -1;
    while (!told_to_end) usleep(1000);
    return NULL;
}

static int filter_others(void) {
    static volatile int filtered;
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_filtered, (void*)&filtered) != 0) return 0;
    while (filtered == 0) usleep(100);
    return filtered == 1;
}

static int reach_process_limit(void) {
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    return setrlimit(RLIMIT_NPROC, &none) == 0 && fork() < 0;
}

static int map_end_mark(const char* path) {
    const int fd = path == NULL ? -1 : open(path, O_RDONLY);
    if (fd < 0) return 0;
    end_mark = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    return end_mark != MAP_FAILED;
}

static int restrict_as(const char* how, const char* path) {
    if (strcmp(how, "errno") == 0) return filter_forks(SECCOMP_RET_ERRNO | 1);
    if (strcmp(how, "kill") == 0) return filter_forks(SECCOMP_RET_KILL_PROCESS);
    if (strcmp(how, "others") == 0) return filter_others();
    if (strcmp(how, "nproc") == 0) return reach_process_limit();
    if (strcmp(how, "strict") == 0)
        return map_end_mark(path) && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0;
    return strcmp(how, "none") == 0;
}

__attribute__((noinline)) static void scramble(uint64_t key) {
    for (size_t i = 1; i < words; ++i) memory[i] += memory[i - 1] * (key | 1);
}

__attribute__((noinline)) static void unscramble(uint64_t key) {
    for (size_t i = words - 1; i > 0; --i) memory[i] -= memory[i - 1] * (key | 1);
}

static void say(const char* text) {
    if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(3);
}

int main(int argc, char** argv) {
    const unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 20000;
    signal(SIGTERM, on_term);
    if (argc < 2 || !restrict_as(argv[1], argc > 3 ? argv[3] : NULL)) return 2;
    for (size_t i = 0; i < words; ++i) memory[i] = i * 0x9e3779b97f4a7c15;
    say("ready\n");
    for (unsigned round = 0; rounds ? round < rounds : !told_to_end; ++round) {
        scramble(round);
        unscramble(round);
        if (end_mark != NULL && *end_mark) break;
    }
    int harmed = 0;
    for (size_t i = 0; i < words; ++i) harmed |= memory[i] != i * 0x9e3779b97f4a7c15;
    say(harmed ? "HARMED\n" : "unharmed\n");
    if (end_mark != NULL) syscall(SYS_exit, harmed);  // strict mode forbids exit_group
    _exit(harmed);
}
