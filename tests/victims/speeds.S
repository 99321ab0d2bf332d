/* Loops of different speed. Instructions of a turn: speeds_arithmetic 10, speeds_divides 6,
 * speeds_chase 3, speeds_branches 13.5 on average. */
#include "victim.S.h"

#define LOOP(name) \
    .p2align 6; .globl name; .type name, @function; name:

    .text
/* void speeds_arithmetic(uint64_t turns): many instructions execute at once */
LOOP(speeds_arithmetic)
    .cfi_startproc
PLACE(speeds_arithmetic_turn)
    add $1, %rax
    add $3, %rcx
    add $5, %rdx
    add $7, %rsi
    xor $1, %rax
    xor $1, %rcx
    xor $1, %rdx
    xor $1, %rsi
    dec %rdi
    jnz speeds_arithmetic_turn
    ret
    .cfi_endproc
    .size speeds_arithmetic, . - speeds_arithmetic

/* void speeds_divides(uint64_t turns): each division waits for the previous one */
LOOP(speeds_divides)
    .cfi_startproc
    mov $3, %ecx
    mov $-1, %rax
PLACE(speeds_divides_turn)
    xor %edx, %edx
    div %rcx
    bts $63, %rax
    lea 3(%rdx), %rcx
    dec %rdi
    jnz speeds_divides_turn
    ret
    .cfi_endproc
    .size speeds_divides, . - speeds_divides

/* void** speeds_chase(uint64_t turns, void** from): loads that miss the caches and depend on each other */
LOOP(speeds_chase)
    .cfi_startproc
    mov %rsi, %rax
PLACE(speeds_chase_turn)
    mov (%rax), %rax
    dec %rdi
    jnz speeds_chase_turn
    ret
    .cfi_endproc
    .size speeds_chase, . - speeds_chase

/* uint64_t speeds_branches(uint64_t turns, uint64_t state): branches with unpredictable directions */
LOOP(speeds_branches)
    .cfi_startproc
    mov %rsi, %rax
PLACE(speeds_branches_turn)
    mov %rax, %rcx
    shl $13, %rcx
    xor %rcx, %rax
    mov %rax, %rcx
    shr $7, %rcx
    xor %rcx, %rax
    mov %rax, %rcx
    shl $17, %rcx
    xor %rcx, %rax
    test $1, %al
    jz speeds_branches_even
    add $1, %rdx
PLACE(speeds_branches_even)
    dec %rdi
    jnz speeds_branches_turn
    ret
    .cfi_endproc
    .size speeds_branches, . - speeds_branches
    .section .note.GNU-stack, "", @progbits
