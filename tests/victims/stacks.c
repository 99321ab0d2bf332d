// Leaves frames of its stack at once, and goes on to other stacks. Each work_ function is called
// from one place, so that its callers are known: see test_stacks.py.
//
// stacks MODE [ROUNDS]
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <ucontext.h>

#pragma GCC diagnostic ignored "-Winfinite-recursion"

#define OWN_FRAME __attribute__((noinline))

static volatile long sink;

// Some six instructions a round. Functions that are the same would become one.
#define WORK(name)                                                     \
    OWN_FRAME static void name(void) {                                 \
        for (volatile long i = 0; i < 500; i = i + 1) sink = __LINE__; \
    }

// Frames that longjmp leaves, in a loop that would pile them up.
static jmp_buf caught;
WORK(work_after_jump)
OWN_FRAME static void jump_from(int depth) {
    if (depth == 0) longjmp(caught, 1);
    jump_from(depth - 1);
    ++sink;
}
OWN_FRAME static void longjmps(int rounds) {
    for (volatile int i = 0; i < rounds; i = i + 1)
        if (setjmp(caught) == 0)
            jump_from(i % 7);
        else
            work_after_jump();
}

// Recursion in which each level catches what the second one behind it throws.
static jmp_buf levels[16];
WORK(work_in_level)
OWN_FRAME static void level(int number) {
    if (setjmp(levels[number]) != 0) {
        work_in_level();
        return;
    }
    if (number == 12) longjmp(levels[number - 2], 1);
    level(number + 1);
    if (number >= 2) longjmp(levels[number - 2], 1);
}
OWN_FRAME static void recursive_longjmps(int rounds) {
    for (int i = 0; i < rounds; ++i) level(0);
}

// Two coroutines of equal work, which hand over to each other.
static ucontext_t main_context, alpha_context, beta_context;
WORK(work_alpha)
WORK(work_beta)
static int handovers;
OWN_FRAME static void hand_over(ucontext_t* from, ucontext_t* to) {
    swapcontext(from, to);
    ++sink;
}
static void alpha(void) {
    for (int i = 0; i < handovers; ++i) {
        work_alpha();
        hand_over(&alpha_context, &beta_context);
    }
}
static void beta(void) {
    for (int i = 0; i < handovers; ++i) {
        work_beta();
        hand_over(&beta_context, &alpha_context);
    }
}
static void make(ucontext_t* context, char* stack, size_t bytes, void (*run)(void)) {
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = bytes;
    context->uc_link = &main_context;
    makecontext(context, run, 0);
}
OWN_FRAME static void contexts(int rounds) {
    static char stacks[2][16384];
    handovers = rounds;
    make(&alpha_context, stacks[0], sizeof stacks[0], alpha);
    make(&beta_context, stacks[1], sizeof stacks[1], beta);
    swapcontext(&main_context, &alpha_context);
}

// Coroutines as libraries in assembler make them: callee-saved registers on the stack, and a jump.
// Many small stacks lie side by side.
enum { fibers = 8 };
static void* fiber_at[fibers + 1];
static int fiber_now, fiber_left;
WORK(work_fiber)
WORK(work_between_fibers)
__asm__(
    ".text\n.type switch_fiber, @function\nswitch_fiber:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\npop %rcx\njmp *%rcx\n"
    ".size switch_fiber, . - switch_fiber\n");
void switch_fiber(void** from, void* to);
OWN_FRAME static void go_to_fiber(int number) {
    const int from = fiber_now;
    fiber_now = number;
    switch_fiber(&fiber_at[from], fiber_at[number]);
    ++sink;
}
OWN_FRAME static void fiber_inner(void) {
    work_fiber();
    go_to_fiber(fibers);
}
static void fiber(void) {
    for (;;) fiber_inner();
}
OWN_FRAME static void fibers_in_turns(int rounds) {
    static _Alignas(16) void* stacks[fibers][256];
    for (int i = 0; i < fibers; ++i) {
        void** top = &stacks[i][254];
        *top = (void*)fiber;  // and no way back
        fiber_at[i] = top - 6;
    }
    fiber_now = fibers;
    for (fiber_left = rounds; fiber_left != 0; --fiber_left) {
        go_to_fiber((fiber_left * 5) % fibers);
        work_between_fibers();
    }
}

// Signals, on the same stack and on another one. Each second handler does not return.
static sigjmp_buf interrupted;
static volatile int leaves;
WORK(work_in_handler)
WORK(work_behind_signal)
OWN_FRAME static void handler_inner(void) {
    work_in_handler();
    if (leaves) siglongjmp(interrupted, 1);
    ++sink;
}
static void handler(int number) {
    (void)number;
    handler_inner();
    ++sink;
}
OWN_FRAME static void raise_from(int depth) {
    if (depth == 0)
        raise(SIGUSR1);
    else
        raise_from(depth - 1);
    ++sink;
}
OWN_FRAME static void signals(int rounds, int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGUSR1, &action, 0);
    for (volatile int i = 0; i < rounds; i = i + 1) {
        leaves = i % 2;
        if (sigsetjmp(interrupted, 1) == 0) raise_from(i % 5);
        work_behind_signal();
    }
}

// A stack that overflows, which a handler on another stack notices.
WORK(work_behind_overflow)
OWN_FRAME static void overflow(long depth) {
    volatile char room[2000];
    room[0] = 1;
    overflow(depth + 1);
    sink += room[0];
}
OWN_FRAME static void overflows(int rounds) {
    const struct rlimit limit = {1 << 18, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &limit);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &action, 0);
    leaves = 1;
    for (volatile int i = 0; i < rounds; i = i + 1) {
        if (sigsetjmp(interrupted, 1) == 0) overflow(0);
        work_behind_overflow();
    }
}

// Deeper than what a profile shows of a stack.
WORK(work_at_depth)
OWN_FRAME static void recurse(int depth, int rounds) {
    if (depth == 0)
        for (int i = 0; i < rounds; ++i) work_at_depth();
    else
        recurse(depth - 1, rounds);
    ++sink;
}

int main(int count, char** words) {
    static char other_stack[65536];
    const char* mode = count > 1 ? words[1] : "";
    const int rounds = count > 2 ? atoi(words[2]) : 100;
    const stack_t other = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    sigaltstack(&other, 0);
    if (strcmp(mode, "longjmps") == 0) longjmps(rounds);
    if (strcmp(mode, "recursive") == 0) recursive_longjmps(rounds);
    if (strcmp(mode, "contexts") == 0) contexts(rounds);
    if (strcmp(mode, "fibers") == 0) fibers_in_turns(rounds);
    if (strcmp(mode, "signals") == 0) signals(rounds, 0);
    if (strcmp(mode, "onstack") == 0) signals(rounds, SA_ONSTACK);
    if (strcmp(mode, "overflows") == 0) overflows(rounds);
    if (strcmp(mode, "depth") == 0) recurse(6000, rounds);
    printf("%s done\n", mode);
    return 0;
}
