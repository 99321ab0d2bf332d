/* Functions that are entered in other ways than by a direct call.
 *
 * In each iteration tails_run calls
 * - tails_cold, 2 instructions, which ends with a jump to tails_hot;
 * - tails_maybe, 2 instructions and in every second iteration a third, which jumps to tails_hot by a
 *   conditional branch in the others;
 * - tails_split, 4 instructions, which jumps to tails_split_far and is jumped back into;
 * - abs of the C library, through the procedure linkage table.
 * tails_hot has 4 instructions and is entered by jumps alone, tails_split_far has 2. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl tails_run
    .type tails_run, @function
/* uint64_t tails_run(uint64_t iterations): returns how often tails_hot was entered */
tails_run:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    push %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    mov %rdi, %rbx
    xor %r12d, %r12d
1:
    call tails_cold
    call tails_maybe
    call tails_split
    mov %rbx, %rdi
    call abs@PLT
    dec %rbx
    jnz 1b
    mov %r12, %rax
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    pop %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
    .cfi_endproc
    .size tails_run, . - tails_run

    .p2align 4
    .type tails_cold, @function
tails_cold:
    .cfi_startproc
    nop
    jmp tails_hot
    .cfi_endproc
    .size tails_cold, . - tails_cold

    .p2align 4
    .type tails_maybe, @function
tails_maybe:
    .cfi_startproc
    test $1, %bl
    jnz tails_hot
    ret
    .cfi_endproc
    .size tails_maybe, . - tails_maybe

    .p2align 4
    .type tails_split, @function
tails_split:
    .cfi_startproc
    nop
    jmp tails_split_far
tails_split_back:
    nop
    ret
    .cfi_endproc
    .size tails_split, . - tails_split

    .p2align 4
    .type tails_hot, @function
tails_hot:
    .cfi_startproc
    nop
    nop
    inc %r12
    ret
    .cfi_endproc
    .size tails_hot, . - tails_hot

    .p2align 4
    .type tails_split_far, @function
tails_split_far:
    .cfi_startproc
    nop
    jmp tails_split_back
    .cfi_endproc
    .size tails_split_far, . - tails_split_far

    .section .note.GNU-stack, "", @progbits
