/* A leaf whose argument depends on who calls it.
 *
 * In each iteration the leaf gets 7 from callers_first_call, the iteration's number from
 * callers_second_call, and from callers_middle_call the argument of callers_middle, which is 5 in
 * its first call and 6 in its second. callers_leaf_value computes the argument plus 1. The return
 * addresses have labels, too: profiles name a call site by the byte before. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl callers_run
    .type callers_run, @function
/* uint64_t callers_run(uint64_t iterations): returns the sum of the leaf's results */
callers_run:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    push %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    xor %r12d, %r12d
    mov %rdi, %rbx
callers_loop:
    mov $7, %edi
    call callers_leaf
PLACE(callers_first_return)
    add %rax, %r12
    mov %rbx, %rdi
    call callers_leaf
PLACE(callers_second_return)
    add %rax, %r12
    mov $5, %edi
    call callers_middle
PLACE(callers_five_return)
    add %rax, %r12
    mov $6, %edi
    call callers_middle
PLACE(callers_six_return)
    add %rax, %r12
    dec %rbx
    jnz callers_loop
    mov %r12, %rax
    pop %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    pop %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
    .cfi_endproc
    .size callers_run, . - callers_run

    .type callers_middle, @function
callers_middle:
    .cfi_startproc
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    call callers_leaf
PLACE(callers_middle_return)
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size callers_middle, . - callers_middle

    .type callers_leaf, @function
callers_leaf:
    .cfi_startproc
    nop                     /* the next instruction gets a label of its own */
PLACE(callers_leaf_value)
    lea 1(%rdi), %rax
    ret
    .cfi_endproc
    .size callers_leaf, . - callers_leaf

    .section .note.GNU-stack, "", @progbits
