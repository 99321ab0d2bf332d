/* One loop with three acyclic paths through it, one of them into a function and back.
 *
 * Per 8 iterations: 6 times "short" (paths_loop, paths_short, paths_join), once "low" (paths_loop,
 * paths_long, paths_callee, paths_low, paths_after_call, paths_join) and once "high" (the same
 * through paths_high). The callee lies behind the loop, so that its return goes to a lower
 * address without being a backward branch. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl paths_run
    .type paths_run, @function
/* uint64_t paths_run(uint64_t iterations) */
paths_run:
    .cfi_startproc
    xor %eax, %eax
    xor %ecx, %ecx
    jmp paths_loop

PLACE(paths_loop)                   /* 3 instructions */
    inc %rcx
    test $3, %cl
    jz paths_long
PLACE(paths_short)                  /* 2 */
    add $1, %rax
    jmp paths_join
PLACE(paths_long)                   /* 2 */
    add $2, %rax
    call paths_callee
PLACE(paths_after_call)             /* 2 */
    add $3, %rax
    jmp paths_join
PLACE(paths_join)                   /* 2 */
    cmp %rdi, %rcx
PLACE(paths_back)
    jne paths_loop
PLACE(paths_leave)
    ret
    .cfi_endproc
    .size paths_run, . - paths_run

    .globl paths_callee
    .type paths_callee, @function
paths_callee:                       /* 2 */
    .cfi_startproc
    test $4, %cl
    jnz paths_high
PLACE(paths_low)                    /* 2 */
    add $5, %rax
    ret
PLACE(paths_high)                   /* 2 */
    add $7, %rax
    ret
    .cfi_endproc
    .size paths_callee, . - paths_callee

    .section .note.GNU-stack, "", @progbits
