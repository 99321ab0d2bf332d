// Exercises one corner case of processors and kernels, which argv[1] names. The output is the same
// in every run. Status 77: this machine lacks what the case needs.
//   ignored    single-stepped instructions while SIGTRAP is ignored, then raised
//   blocked    the same while SIGTRAP is blocked and has a handler, then unblocked
//   int80      the results of a first and a second 32-bit system call
//   traps      steps itself, also over instructions that exact mode single-steps
//   spin N     N times about 800 instructions without a system call, after one that is stepped
//   patch N    N times code that writes into itself and into code beside it, on a writable page
//   ticks N    counts N signals of a timer in a tight loop that is never in the same state twice
//   alarm      one signal in a tight loop that counts; prints whether it counted anything
//   threads N  N threads, one after the other; each finds out whether it is traced
//   flags      stores the flags and then a constant (corners_constant), then is stepped
//   written    a child writes into the program's memory while the program waits for the child
//   keys       counts writes that the key of their page denies
//   nothing    prints, and makes no other system call by itself
#define _GNU_SOURCE
#include <cpuid.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parent.h"

static volatile sig_atomic_t signals;

static void count_signal(int signal) {
    (void)signal;
    ++signals;
}

static void handle(int signal, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    require(sigaction(signal, &action, NULL) == 0, "sigaction");
}

// An instruction that is left to the hardware: the emulator never translates it.
static unsigned stepped(void) {
    unsigned a, b, c, d;
    __cpuid(0, a, b, c, d);
    return a ^ b ^ c ^ d;
}

static const char* disposition(int signal) {
    struct sigaction action;
    sigaction(signal, NULL, &action);
    if (action.sa_handler == SIG_IGN) return "ignored";
    if (action.sa_handler == SIG_DFL) return "default";
    return "handled";
}

static int is_blocked(int signal) {
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    return sigismember(&mask, signal);
}

static int on_ignored(void) {
    handle(SIGTRAP, SIG_IGN);
    for (int i = 0; i < 3; ++i) stepped();
    printf("SIGTRAP is %s\n", disposition(SIGTRAP));
    raise(SIGTRAP);
    return 0;
}

static int on_blocked(void) {
    handle(SIGTRAP, count_signal);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 3; ++i) stepped();
    raise(SIGTRAP);
    stepped();
    printf("SIGTRAP is %s and blocked %d, %d came\n", disposition(SIGTRAP), is_blocked(SIGTRAP),
           (int)signals);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    printf("%d came\n", (int)signals);
    return 0;
}

static void lacks(int signal) {
    (void)signal;
    _exit(77);
}

static int on_int80(void) {
    handle(SIGSEGV, lacks);  // for kernels without 32-bit programs
    for (int i = 0; i < 2; ++i) {
        long result = 20;  // getpid
        unsigned other = 0x1234;
        __asm__ volatile("int $0x80"
                         : "+a"(result), "+b"(other)
                         :
                         : "memory", "r8", "r9", "r10", "r11");
        printf("getpid is right: %d; ebx %#x\n", result == getpid(), other);
        stepped();
    }
    return 0;
}

static volatile unsigned long trap_sum, trap_count;

static void on_trap(int signal, siginfo_t* info, void* context) {
    (void)signal;
    const ucontext_t* at = context;
    trap_sum += (unsigned long)at->uc_mcontext.gregs[REG_RIP] - (unsigned long)on_trap;
    trap_count += info->si_code == TRAP_TRACE;
}

static int on_traps(void) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    for (int i = 0; i < 3; ++i) {
        __asm__ volatile(
            "sub $128, %%rsp\n pushfq\n orl $0x100, (%%rsp)\n popfq\n"
            "nop\n nop\n cpuid\n nop\n pushfq\n andl $~0x100, (%%rsp)\n popfq\n add $128, %%rsp\n"
            :
            : "a"(0)
            : "rbx", "rcx", "rdx", "memory", "cc");
    }
    printf("%lu traps\n", trap_count);
    return 0;
}

static int on_spin(long rounds) {
    uint64_t state = stepped() | 1;
    for (long i = 0; i < rounds; ++i)
        for (int j = 0; j < 200; ++j) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            __asm__ volatile("" : "+r"(state));
        }
    printf("done: %d\n", state != 0);
    return 0;
}

static int on_patch(long rounds) {
    // movl $0, 1f+1(%rip); 1: mov $0, %eax; ret. The same page has a word that changes.
    static const unsigned char code[] = {0x89, 0x3d, 0x01, 0x00, 0x00, 0x00,
                                         0xb8, 0x00, 0x00, 0x00, 0x00, 0xc3};
    unsigned char* page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 77;
    memcpy(page, code, sizeof code);
    memcpy(page + 64, code + 6, sizeof code - 6);
    int (*writes_itself)(int) = (int (*)(int))(uintptr_t)page;
    int (*is_written)(void) = (int (*)(void))(uintptr_t)(page + 64);
    unsigned long sum = 0;
    for (long i = 0; i < rounds; ++i) {
        const int now = (int)(i & 0xff);
        sum += (unsigned)writes_itself(now);
        memcpy(page + 65, &now, sizeof now);
        sum += (unsigned)is_written();
        page[2048] = (unsigned char)(sum & 1);
    }
    printf("sum %lu\n", sum);
    return 0;
}

static int on_ticks(long count) {
    handle(SIGALRM, count_signal);
    const struct itimerval period = {{0, 20000}, {0, 20000}};
    setitimer(ITIMER_REAL, &period, NULL);
    for (unsigned long turns = 0; signals < count; ++turns) __asm__ volatile("" : "+r"(turns));
    const struct itimerval off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &off, NULL);
    printf("enough ticks: %d\n", signals >= count);
    return 0;
}

static int on_alarm(void) {
    handle(SIGALRM, count_signal);
    const struct itimerval once = {{0, 0}, {0, 100000}};
    setitimer(ITIMER_REAL, &once, NULL);
    unsigned long count = 0;
    while (signals == 0) {
        ++count;
        __asm__ volatile("" : "+r"(count));
    }
    printf("counted something: %d\n", count > 1000);
    return 0;
}

static void* tell_tracer(void* traced) {
    FILE* status = fopen("/proc/self/status", "r");
    char line[256];
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "TracerPid:", 10) == 0) *(int*)traced += atoi(line + 10) != 0;
    if (status) fclose(status);
    return NULL;
}

static int on_threads(long count) {
    int traced = 0;
    for (long i = 0; i < count; ++i) {
        pthread_t thread;
        require(pthread_create(&thread, NULL, tell_tracer, &traced) == 0, "pthread_create");
        pthread_join(thread, NULL);
    }
    // The first thread is born while the program is still followed.
    printf("traced more than once: %d\n", traced > 1);
    return 0;
}

void corners_constant(void);  // a label: its second byte is the constant's first

static int on_flags(void) {
    unsigned long flags, constant, more;
    __asm__ volatile(
        "sub $128, %%rsp\n pushfq\n pop %0\n"
        ".globl corners_constant\n corners_constant: movl $42, %%edx\n"
        "pushfq\n pop %1\n add $128, %%rsp\n"
        : "=&r"(flags), "=&r"(more), "=&d"(constant)
        :
        : "memory", "cc");
    static volatile unsigned long stored;
    stored = constant;
    stepped();
    printf("%d\n", stored == 42 && ((flags | more) & 0x100) == 0);
    return 0;
}

static volatile unsigned long written = 1;

static int is_asleep(pid_t pid) {
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE* file = fopen(path, "r");
    const int known = file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    if (file != NULL) fclose(file);
    return known && state == 'S';
}

// Writes once the parent sleeps, which it does in waitpid().
static int write_to_parent(pid_t parent) {
    while (!is_asleep(parent)) usleep(1000);
    unsigned long value = 2;
    struct iovec from = {&value, sizeof value}, to = {(void*)(uintptr_t)&written, sizeof value};
    return process_vm_writev(parent, &from, 1, &to, 1, 0) == sizeof value ? 0 : 77;
}

static int on_written(void) {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    const pid_t parent = getpid();
    const pid_t child = fork();
    char word;
    if (child == 0) _exit(read(ends[0], &word, 1) == 1 ? write_to_parent(parent) : 1);
    // This call links waitpid(): the second call then takes no interval for the dynamic linker.
    int status;
    require(waitpid(child, &status, WNOHANG) == 0, "waitpid");
    // With this read, an emulator that keeps copies of memory has one of this page.
    const unsigned long before = written;
    require(write(ends[1], "x", 1) == 1, "write");
    require(waitpid(child, &status, 0) == child, "waitpid");
    const unsigned long after = written;
    stepped();
    printf("%lu %lu\n", before, after);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static sigjmp_buf behind_fault;

static void leave_fault(int signal) {
    siglongjmp(behind_fault, signal);
}

static int on_keys(void) {
    const int key = pkey_alloc(0, 0);
    if (key < 0) return 77;
    handle(SIGSEGV, leave_fault);
    volatile char* page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(page != MAP_FAILED, "mmap");
    require(pkey_mprotect((char*)page, 4096, PROT_READ | PROT_WRITE, key) == 0, "pkey_mprotect");
    volatile int denied = 0;
    for (int round = 0; round < 10; ++round) {
        require(pkey_set(key, PKEY_DISABLE_WRITE) == 0, "pkey_set");
        if (sigsetjmp(behind_fault, 1) == 0)
            *page = 1;
        else
            ++denied;
    }
    require(pkey_set(key, 0) == 0, "pkey_set");
    printf("%d %d\n", denied, *page);
    return 0;
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "";
    const long count = argc > 2 ? atol(argv[2]) : 1;
    if (strcmp(what, "ignored") == 0) return on_ignored();
    if (strcmp(what, "blocked") == 0) return on_blocked();
    if (strcmp(what, "int80") == 0) return on_int80();
    if (strcmp(what, "traps") == 0) return on_traps();
    if (strcmp(what, "spin") == 0) return on_spin(count);
    if (strcmp(what, "patch") == 0) return on_patch(count);
    if (strcmp(what, "ticks") == 0) return on_ticks(count);
    if (strcmp(what, "alarm") == 0) return on_alarm();
    if (strcmp(what, "threads") == 0) return on_threads(count);
    if (strcmp(what, "flags") == 0) return on_flags();
    if (strcmp(what, "written") == 0) return on_written();
    if (strcmp(what, "keys") == 0) return on_keys();
    printf("%s\n", what);
    return 0;
}
