/* A loop of which it is known how often it is executed: see tests/e2e/test_regions.py. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl regions_loop
    .type regions_loop, @function
/* void regions_loop(uint64_t turns): one turn at least, each of them one jump back */
regions_loop:
    .cfi_startproc
    jmp regions_turn
PLACE(regions_turn)
    dec %rdi
PLACE(regions_jump)
    jnz regions_turn
    ret
    .cfi_endproc
    .size regions_loop, . - regions_loop
    .section .note.GNU-stack, "", @progbits
