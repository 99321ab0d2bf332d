// State of the processor that programs seldom look at. argv[1] says what is printed:
//   refused  whether RDTSC, RDTSCP and CPUID fault when a program has asked for that, in a thread,
//   in
//            a child, and again when they are allowed
//   control  MXCSR and the x87 control word that XRSTOR, FXRSTOR, LDMXCSR and FLDCW have loaded, as
//            signal frames and the processor show them
//   pointers whether the x87 unit's last instruction, opcode and operand are the program's own
//   zone     the time zone and clocks of the kernel
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <cpuid.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#include "parent.h"

static unsigned char area[4096] __attribute__((aligned(64)));
static __thread sigjmp_buf behind_fault;

static void leave_fault(int signal) {
    siglongjmp(behind_fault, signal);
}

static int faults(void (*execute)(void)) {
    const int signal = sigsetjmp(behind_fault, 1);
    if (signal == 0) execute();
    return signal;
}

static void execute_rdtsc(void) {
    __rdtsc();
}

static void execute_rdtscp(void) {
    unsigned processor;
    __rdtscp(&processor);
}

static void execute_cpuid(void) {
    unsigned a, b, c, d;
    __cpuid(0, a, b, c, d);
    __asm__ volatile("" ::"r"(a ^ b ^ c ^ d));
}

static void tell_faults(const char* where) {
    printf("%s: rdtsc %d, rdtscp %d, cpuid %d\n", where, faults(execute_rdtsc),
           faults(execute_rdtscp), faults(execute_cpuid));
    fflush(stdout);
}

static void* tell_in_thread(void* where) {
    tell_faults(where);
    return NULL;
}

static void tell_everywhere(const char* what) {
    tell_faults(what);
    pthread_t thread;
    require(pthread_create(&thread, NULL, tell_in_thread, "thread") == 0, "pthread_create");
    pthread_join(thread, NULL);
    const pid_t child = fork();
    if (child == 0) {
        tell_faults("child");
        _exit(0);
    }
    require(waitpid(child, NULL, 0) == child, "waitpid");
}

static void tell_refused(void) {
    signal(SIGSEGV, leave_fault);
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    tell_everywhere("no time stamps");
    prctl(PR_SET_TSC, PR_TSC_ENABLE);
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);  // which not every processor can do
    tell_everywhere("no CPUID");
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
    tell_everywhere("all");
}

static void tell_frame(int signal, siginfo_t* info, void* context) {
    (void)info;
    ucontext_t* at = context;
    const struct _libc_fpstate* state = at->uc_mcontext.fpregs;
    printf("signal %d: MXCSR %x, control word %x\n", signal, state->mxcsr, state->cwd);
    at->uc_mcontext.gregs[REG_RIP] += 1;  // behind HLT
}

static void load(uint32_t mxcsr, uint16_t control, uint64_t components) {
    memset(area, 0, sizeof area);
    memcpy(area, &control, sizeof control);
    memcpy(area + 24, &mxcsr, sizeof mxcsr);
    memcpy(area + 512, &components, sizeof components);
}

#define TELL_CONTROL(instructions)                                                            \
    do {                                                                                      \
        uint32_t mxcsr = 0;                                                                   \
        uint16_t control = 0;                                                                 \
        long id = SYS_getppid;                                                                \
        __asm__ volatile("mov $-1, %%eax\n mov %%eax, %%edx\n" instructions                   \
                         "\n hlt\n mov %2, %%rax\n syscall\n stmxcsr %0\n fnstcw %1\n fninit" \
                         : "=m"(mxcsr), "=m"(control)                                         \
                         : "m"(id), "r"(area)                                                 \
                         : "rax", "rcx", "rdx", "r11", "memory");                             \
        _mm_setcsr(0x1f80);                                                                   \
        printf("%s: MXCSR %x, control word %x\n", instructions, mxcsr, control);              \
    } while (0)

static void tell_control(void) {
    struct sigaction action = {.sa_sigaction = tell_frame, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    unsigned a, b, c, d;
    __cpuid(1, a, b, c, d);
    const int has_xsave = (c & bit_OSXSAVE) != 0;
    for (uint64_t components = 0; has_xsave && components < 4; ++components) {
        load(0x1fa0, 0x27f, components);
        TELL_CONTROL("xrstor (%3)");
    }
    load(0x1fc0, 0x17f, 0);
    TELL_CONTROL("fxrstor (%3)");
    load(0x9fc0, 0x77f, 0);
    TELL_CONTROL("ldmxcsr 24(%3)\n fldcw (%3)");
    // Some processors have a further bit, for unaligned operands.
    uint32_t mask;
    __asm__ volatile("fxsave %0" : "=m"(area));
    memcpy(&mask, area + 28, sizeof mask);
    load(0x1f80 | (mask & 0x20000), 0x37f, 0);
    TELL_CONTROL("ldmxcsr 24(%3)");
}

static volatile uint64_t divisor_instruction;

static void tell_pending(int signal, siginfo_t* info, void* context) {
    ucontext_t* at = context;
    const struct _libc_fpstate* state = at->uc_mcontext.fpregs;
    printf("signal %d, code %d: own %d\n", signal, info->si_code,
           state->rip == divisor_instruction);
    at->uc_mcontext.gregs[REG_RIP] += 1;  // behind FWAIT
    at->uc_mcontext.fpregs->swd = 0;
    at->uc_mcontext.fpregs->cwd = 0x37f;
}

static double operand = 1.5;

static void tell_pointers(void) {
    uint32_t stored[27], first;
    __asm__ volatile("lea 1f(%%rip), %%rax\n mov %%eax, %1\n 1: fldpi\n fnstenv %0\n fninit"
                     : "=m"(stored), "=m"(first)
                     :
                     : "rax");
    printf("FNSTENV: own %d, opcode %x\n", stored[3] == first, stored[4] >> 16);
    __asm__ volatile("lea 1f(%%rip), %%rax\n mov %%eax, %1\n 1: fldl %2\n fnsave %0\n"
                     : "=m"(stored), "=m"(first)
                     : "m"(operand)
                     : "rax");
    printf("FNSAVE: own %d, opcode %x, operand %d\n", stored[3] == first, stored[4] >> 16,
           stored[5] == (uint32_t)(uintptr_t)&operand);
    __asm__ volatile(
        "lea 1f(%%rip), %%rax\n mov %%eax, %1\n 1: fldpi\n jmp 2f\n 2: fldcw %2\n fnstenv %0\n "
        "fninit"
        : "=m"(stored), "=m"(first)
        : "m"((uint16_t){0x27f})
        : "rax");
    printf("behind FLDCW: own %d, control word %x\n", stored[3] == first, stored[0] & 0xffff);
    struct sigaction action = {.sa_sigaction = tell_pending, .sa_flags = SA_SIGINFO};
    sigaction(SIGFPE, &action, NULL);
    __asm__ volatile(
        "lea 1f(%%rip), %%rax\n mov %%rax, %0\n fldcw %1\n fld1\n fldz\n"
        "1: fdivrp\n nop\n fwait\n fninit"
        : "=m"(divisor_instruction)
        : "m"((uint16_t){0x37b})
        : "rax");
}

static void tell_zone(void) {
    struct timezone zone;
    for (int by_call = 0; by_call < 2; ++by_call) {
        struct timeval now;
        memset(&zone, 'x', sizeof zone);
        const long result =
            by_call ? syscall(SYS_gettimeofday, &now, &zone) : gettimeofday(&now, &zone);
        printf("%ld: zone %d %d, as of now %d\n", result, zone.tz_minuteswest, zone.tz_dsttime,
               now.tv_sec - time(NULL) <= 1 && time(NULL) - now.tv_sec <= 1);
    }
    clockid_t clock;
    struct timespec usual = {-1, -1}, now = {-1, -1};
    require(pthread_getcpuclockid(pthread_self(), &clock) == 0, "pthread_getcpuclockid");
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &usual);
    for (int by_call = 0; by_call < 2; ++by_call) {
        const long result =
            by_call ? syscall(SYS_clock_gettime, clock, &now) : clock_gettime(clock, &now);
        const double later =
            (double)(now.tv_sec - usual.tv_sec) + 1e-9 * (double)(now.tv_nsec - usual.tv_nsec);
        printf("%ld: own processor time %d\n", result, later >= 0 && later < 1);
    }
    printf("%d\n", clock_gettime(12345, &now));
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(what, "refused") == 0) tell_refused();
    if (strcmp(what, "control") == 0) tell_control();
    if (strcmp(what, "pointers") == 0) tell_pointers();
    if (strcmp(what, "zone") == 0) tell_zone();
    return 0;
}
