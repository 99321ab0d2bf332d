// Executes one instruction that raises a signal, which argv[1] names, while all signals are
// blocked, ignored or handled (argv[2]). Blocked or ignored, the signal must kill. The handler
// prints the signal, its code, how far behind the instruction it was raised, and whether SIGUSR1 is
// blocked as it was.
//   privileged  HLT                             undefined  UD2
//   trap        INT3                            division   by 0
//   numbered    INT 3                           memory     a write to address 0
//   debug       INT1                            guard      a write to a page without rights
//   interrupt   INT 0xff                        step       with the trap flag
//   stack       a push to no canonical address  alignment  an unaligned access with the AC flag
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

static char alternate_stack[1 << 16];

static void on_signal(int signal, siginfo_t* info, void* context) {
    extern char fault_begin[];
    // The kernel leaves the AC flag as it is.
    __asm__ volatile(
        "sub $128, %%rsp\n pushfq\n andl $~0x40000, (%%rsp)\n popfq\n add $128, %%rsp" ::
            : "memory", "cc");
    const ucontext_t* at = context;
    const long offset = (long)at->uc_mcontext.gregs[REG_RIP] - (long)fault_begin;
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    char text[128];
    const int length =
        snprintf(text, sizeof text, "signal %d, code %d, at %+ld, SIGUSR1 blocked %d\n", signal,
                 info->si_code, offset, sigismember(&mask, SIGUSR1));
    _exit(write(1, text, (size_t)length) == length ? 0 : 1);
}

static void raise_fault(const char* what, char* guard) {
    static const char* const names[] = {"privileged", "trap",  "numbered",  "debug",
                                        "interrupt",  "stack", "undefined", "division",
                                        "memory",     "guard", "step",      "alignment"};
    long number = 0;
    while (number < 12 && strcmp(names[number], what) != 0) ++number;
    // Each case takes 32 bytes.
    __asm__ volatile(
        "xor %%edx, %%edx\n xor %%ecx, %%ecx\n mov $1, %%eax\n shl $5, %0\n lea 1f(%%rip), %%rsi\n"
        "add %0, %%rsi\n"
        ".globl fault_begin\n fault_begin: jmp *%%rsi\n"
        ".balign 32\n 1: hlt\n jmp 9f\n"
        ".balign 32\n int3\n jmp 9f\n"
        ".balign 32\n .byte 0xcd, 3\n jmp 9f\n"
        ".balign 32\n .byte 0xf1\n jmp 9f\n"
        ".balign 32\n int $0xff\n jmp 9f\n"
        ".balign 32\n mov %1, %%rsp\n push %%rax\n jmp 9f\n"
        ".balign 32\n ud2\n jmp 9f\n"
        ".balign 32\n div %%ecx\n jmp 9f\n"
        ".balign 32\n movl $1, (%%rcx)\n jmp 9f\n"
        ".balign 32\n movl $1, (%2)\n jmp 9f\n"
        ".balign 32\n pushfq\n orl $0x100, (%%rsp)\n popfq\n nop\n jmp 9f\n"
        ".balign 32\n pushfq\n orl $0x40000, (%%rsp)\n popfq\n mov 1(%%rsp), %%eax\n jmp 9f\n"
        ".balign 32\n 9:\n"
        : "+r"(number)
        : "r"(0x8000000000001234), "r"(guard)
        : "rax", "rcx", "rdx", "rsi", "memory", "cc");
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const struct rlimit no_dump = {0, 0};
    setrlimit(RLIMIT_CORE, &no_dump);
    const stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof alternate_stack};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (strcmp(argv[2], "ignored") == 0) action.sa_handler = SIG_IGN;
    for (int i = 0; i < 5; ++i)
        sigaction((int[]){SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}[i], &action, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (strcmp(argv[2], "blocked") == 0) sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    char* guard = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    raise_fault(argv[1], guard);
    puts("survived");
    return 0;
}
