// Accesses to addresses that are not canonical, by the stack's segment and by others: the processor
// raises #SS for the former, which is SIGBUS, and #GP for the latter, which is SIGSEGV. Prints the
// signal and its code for each instruction.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

uint64_t stack_faults_target[8] __attribute__((aligned(64)));
static sigjmp_buf behind;
static volatile int code;
static char alternate_stack[1 << 16];

static void on_signal(int signal, siginfo_t* info, void* context) {
    (void)context;
    code = info->si_code;
    siglongjmp(behind, signal);
}

// RBP, RSP and RAX are no addresses, RDX is one.
#define TRY(text)                                                                         \
    do {                                                                                  \
        const int signal = sigsetjmp(behind, 1);                                          \
        if (signal == 0)                                                                  \
            __asm__ volatile(                                                             \
                "mov %0, %%rax\n mov %0, %%rbp\n mov %0, %%rsp\n xor %%ecx, %%ecx\n" text \
                :                                                                         \
                : "r"(UINT64_C(0x8000000000001230)), "d"(stack_faults_target)             \
                : "rax", "rcx", "rbx", "memory", "cc");                                   \
        printf("%-34s signal %d, code %d\n", text, signal, code);                         \
    } while (0)

int main(void) {
    const stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof alternate_stack};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    TRY("mov (%%rax), %%rbx");
    TRY("mov (%%rbp), %%rbx");
    TRY("mov %%rbx, 8(%%rsp)");
    TRY("mov (%%rbp,%%rcx,8), %%rbx");
    TRY("mov (%%rcx,%%rbp), %%rbx");
    TRY("mov (,%%rbp), %%rbx");
    TRY(".byte 0x3e; mov (%%rbp), %%rbx");
    TRY(".byte 0x36; mov (%%rax), %%rbx");
    TRY("mov %%fs:(%%rbp), %%rbx");
    TRY("movups (%%rbp), %%xmm0");
    TRY("push %%rcx");
    TRY("push (%%rdx)");
    TRY("push (%%rax)");
    TRY("pop %%rbx");
    TRY("pop (%%rdx)");
    TRY("pop (%%rax)");
    TRY("call *(%%rax)");
    TRY("call 1f; 1:");
    TRY("ret");
    TRY("leave");
    TRY("enter $16, $0");
    TRY("pushfq");
    TRY("popfq");
    TRY("lock incl (%%rbp)");
    TRY("mov %%rax, %%rsi; movsb");
    TRY("lea stack_faults_target(%%rip), %%rbp; movaps 1(%%rbp), %%xmm0");
    return 0;
}
