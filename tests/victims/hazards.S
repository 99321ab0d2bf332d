/* One loop of accesses with each memory hazard, and of accesses that only look like a hazard.
 *
 * Each load has its own offset in a page, so that it conflicts only with the intended store. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl hazards_run
    .type hazards_run, @function
/* uint64_t hazards_run(uint64_t iterations, void* memory): 16 KiB, aligned to 4 KiB */
hazards_run:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    xor %eax, %eax
    mov $0x1122334455667788, %r8

PLACE(hazards_loop)
PLACE(hazards_far_store)            /* before any window when the load comes */
    movl $1, 0x3c0(%rsi)
    .rept 700
    nop
    .endr

PLACE(hazards_narrow_store)         /* the load wants more than was stored */
    mov %eax, 0x200(%rsi)
PLACE(hazards_wider_load)
    mov 0x200(%rsi), %rcx

PLACE(hazards_whole_store)          /* has all bytes of the load */
    mov %r8, 0x040(%rsi)
PLACE(hazards_inner_load)
    mov 0x044(%rsi), %ecx

PLACE(hazards_shifted_store)        /* has some bytes of the load */
    mov %r8, 0x080(%rsi)
PLACE(hazards_shifted_load)
    mov 0x084(%rsi), %rcx

PLACE(hazards_aliased_store)        /* 4 KiB apart */
    mov %r8, 0x0c0(%rsi)
PLACE(hazards_aliased_load)
    mov 0x10c0(%rsi), %rcx

PLACE(hazards_other_store)          /* 4 KiB and 64 bytes apart */
    mov %r8, 0x100(%rsi)
PLACE(hazards_other_load)
    mov 0x1140(%rsi), %rcx

PLACE(hazards_split_load)           /* the last four bytes of a line, and four of the next */
    mov 0x21bc(%rsi), %rcx
PLACE(hazards_whole_load)           /* the last eight */
    mov 0x21f8(%rsi), %rcx
PLACE(hazards_split_store)
    mov %r8, 0x327c(%rsi)
PLACE(hazards_page_load)            /* four bytes of each of two pages */
    mov 0x2ffc(%rsi), %rcx

    lea 0x300(%rsi), %rdx           /* blocked, were it not for the load in between */
PLACE(hazards_pointer_store)
    mov %rdx, 0x300(%rsi)
PLACE(hazards_pointer_load)
    mov 0x300(%rsi), %rbx
PLACE(hazards_dependent_load)
    mov 4(%rbx), %rcx

PLACE(hazards_far_load)
    mov 0x3c0(%rsi), %rcx

PLACE(hazards_fenced_store)
    mov %eax, 0x380(%rsi)
    mfence
PLACE(hazards_fenced_load)
    mov 0x380(%rsi), %rcx

    inc %rax
    cmp %rdi, %rax
PLACE(hazards_back)
    jne hazards_loop
    pop %rbx
    .cfi_adjust_cfa_offset -8
PLACE(hazards_leave)
    ret
    .cfi_endproc
    .size hazards_run, . - hazards_run
    .section .note.GNU-stack, "", @progbits
