/* A loop with one load that waits for memory each time, and many quick instructions: a program that
 * is stopped at any moment is mostly found at the load.
 *
 * Per iteration: slow_load is executed once, and slow_quick is taken 399 times of 400. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl slow_run
    .type slow_run, @function
/* uint64_t slow_run(uint64_t iterations, const uint64_t* memory) */
slow_run:
    .cfi_startproc
    xor %eax, %eax
    jmp slow_load

PLACE(slow_load)
    clflush (%rsi)
    mfence
    add (%rsi), %rax
PLACE(slow_loaded)
    jmp slow_begin
PLACE(slow_begin)
    mov $400, %ecx
PLACE(slow_spin)
    add $1, %rax
    xor $3, %rax
    dec %ecx
PLACE(slow_quick)
    jnz slow_spin
PLACE(slow_next)
    dec %rdi
PLACE(slow_back)
    jnz slow_load
    ret
    .cfi_endproc
    .size slow_run, . - slow_run
    .section .note.GNU-stack, "", @progbits
