/* One loop whose branch edges have known frequencies. Every block ends in a branch, so that all
 * tools divide the code into the same blocks.
 *
 * Per 8 iterations: edges_periodic is taken 6 times; edges_switch goes 4, 2, 1 and 1 times to
 * cases 0 to 3; edges_call is called 8 times; edges_indirect_call calls edges_odd and edges_even
 * 4 times each; edges_never is never taken. edges_random is taken with probability 3/4,
 * independently each time. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl edges_run
    .type edges_run, @function
/* uint64_t edges_run(uint64_t iterations, uint64_t random_state) */
edges_run:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    push %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    mov %rdi, %r12
    mov %rsi, %r8
    xor %ebx, %ebx
    xor %eax, %eax
    jmp edges_loop

PLACE(edges_loop)
    inc %rbx
    test $3, %bl
PLACE(edges_periodic)
    jnz edges_periodic_taken
PLACE(edges_periodic_not)
    add $1, %rax
    jmp edges_middle
PLACE(edges_periodic_taken)
    add $2, %rax
    jmp edges_middle

PLACE(edges_middle)
    mov %r8, %rcx           /* xorshift64 */
    shl $13, %rcx
    xor %rcx, %r8
    mov %r8, %rcx
    shr $7, %rcx
    xor %rcx, %r8
    mov %r8, %rcx
    shl $17, %rcx
    xor %rcx, %r8
    cmp $192, %r8b
PLACE(edges_random)
    jb edges_random_taken
PLACE(edges_random_not)
    add $3, %rax
    jmp edges_choose
PLACE(edges_random_taken)
    add $5, %rax
    jmp edges_choose

PLACE(edges_choose)
    test %r12, %r12
PLACE(edges_never)
    jz edges_unreachable
PLACE(edges_dispatch)
    mov %ebx, %ecx
    and $7, %ecx
    lea edges_table(%rip), %rdx
    movslq (%rdx,%rcx,4), %rcx
    add %rdx, %rcx
PLACE(edges_switch)
    jmp *%rcx
PLACE(edges_case0)
    add $7, %rax
    jmp edges_calls
PLACE(edges_case1)
    add $11, %rax
    jmp edges_calls
PLACE(edges_case2)
    add $13, %rax
    jmp edges_calls
PLACE(edges_case3)
    add $17, %rax
    jmp edges_calls
PLACE(edges_unreachable)
    ud2

PLACE(edges_calls)
    add $19, %rax
PLACE(edges_call)
    call edges_leaf
PLACE(edges_after_call)
    lea edges_odd(%rip), %rcx
    lea edges_even(%rip), %rdx
    test $1, %bl
    cmovz %rdx, %rcx
PLACE(edges_indirect_call)
    call *%rcx
PLACE(edges_end)
    dec %r12
PLACE(edges_back)
    jnz edges_loop
PLACE(edges_leave)
    pop %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    pop %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
    .cfi_endproc
    .size edges_run, . - edges_run

    .globl edges_leaf, edges_odd, edges_even
    .type edges_leaf, @function
    .type edges_odd, @function
    .type edges_even, @function
edges_leaf:
    .cfi_startproc
    add $23, %rax
PLACE(edges_leaf_return)
    ret
    .cfi_endproc
    .size edges_leaf, . - edges_leaf
edges_odd:
    .cfi_startproc
    add $29, %rax
    ret
    .cfi_endproc
    .size edges_odd, . - edges_odd
edges_even:
    .cfi_startproc
    add $31, %rax
    ret
    .cfi_endproc
    .size edges_even, . - edges_even

    .section .rodata
    .p2align 2
edges_table:
    .long edges_case0 - edges_table, edges_case1 - edges_table
    .long edges_case0 - edges_table, edges_case2 - edges_table
    .long edges_case0 - edges_table, edges_case1 - edges_table
    .long edges_case0 - edges_table, edges_case3 - edges_table

    .section .note.GNU-stack, "", @progbits
