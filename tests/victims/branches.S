/* Branches whose predictability is known: see tests/e2e/test_branches.py. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl branches_run
    .type branches_run, @function
/* uint64_t branches_run(uint64_t iterations, uint64_t random): random is not 0 */
branches_run:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    push %r12
    .cfi_adjust_cfa_offset 8
    push %r13
    .cfi_adjust_cfa_offset 8
    mov %rdi, %rbx
    mov %rsi, %r12
    xor %r13d, %r13d
    lea branches_targets(%rip), %rdx

PLACE(branches_loop)
    test $1, %bl
PLACE(branches_alternating)
    jz 1f
    inc %r13
1:
    mov %r12, %rax                  /* xorshift64 */
    shl $13, %rax
    xor %rax, %r12
    mov %r12, %rax
    shr $7, %rax
    xor %rax, %r12
    mov %r12, %rax
    shl $17, %rax
    xor %rax, %r12
    test $0x40, %r12b
PLACE(branches_random)
    jz 1f
    inc %r13
1:
    mov $7, %ecx
2:
    dec %ecx
PLACE(branches_inner)
    jnz 2b
PLACE(branches_one_target)
    call *(%rdx)
    mov %ebx, %eax
    and $1, %eax
PLACE(branches_two_targets)
    call *(%rdx, %rax, 8)
    mov %r12, %rax
    shr $20, %rax
    and $3, %eax
PLACE(branches_random_targets)
    call *(%rdx, %rax, 8)
    dec %rbx
PLACE(branches_back)
    jnz branches_loop

    mov %r13, %rax
    pop %r13
    .cfi_adjust_cfa_offset -8
    pop %r12
    .cfi_adjust_cfa_offset -8
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size branches_run, . - branches_run

    .macro target n
    .type branches_target_\n, @function
branches_target_\n:
    inc %r13
PLACE(branches_return_\n)
    ret
    .size branches_target_\n, . - branches_target_\n
    .endm
    target 0
    target 1
    target 2
    target 3

    .globl branches_descend
    .type branches_descend, @function
/* void branches_descend(uint32_t depth): as many returns */
branches_descend:
    .cfi_startproc
    dec %edi
    jz 1f
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    call branches_descend
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
1:
PLACE(branches_deep_return)
    ret
    .cfi_endproc
    .size branches_descend, . - branches_descend

    .section .data.rel.ro, "aw"
    .p2align 3
branches_targets:
    .quad branches_target_0, branches_target_1, branches_target_2, branches_target_3

    .section .note.GNU-stack, "", @progbits
