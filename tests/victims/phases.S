/* Two loops of the same instructions, of which phases.c runs one or the other. Per iteration 15
 * instructions; NAME_random is taken with probability 1/4, independently each time. */
#include "victim.S.h"

/* uint64_t NAME_run(uint64_t iterations, uint64_t* random_state): returns how often the branch was
 * taken. */
#define PHASE(name)              \
    .globl name##_run;           \
    .type name##_run, @function; \
    .p2align 6;                  \
    name##_run:                  \
    .cfi_startproc;              \
    mov (%rsi), %r8;             \
    xor %eax, %eax;              \
    PLACE(name##_loop)           \
    mov %r8, %rcx;               \
    shl $13, %rcx;               \
    xor %rcx, %r8;               \
    mov %r8, %rcx;               \
    shr $7, %rcx;                \
    xor %rcx, %r8;               \
    mov %r8, %rcx;               \
    shl $17, %rcx;               \
    xor %rcx, %r8;               \
    cmp $64, %r8b;               \
    PLACE(name##_random)         \
    jb name##_taken;             \
    PLACE(name##_not)            \
    add $0, %rax;                \
    jmp name##_end;              \
    PLACE(name##_taken)          \
    add $1, %rax;                \
    jmp name##_end;              \
    PLACE(name##_end)            \
    dec %rdi;                    \
    PLACE(name##_back)           \
    jnz name##_loop;             \
    PLACE(name##_leave)          \
    mov %r8, (%rsi);             \
    ret;                         \
    .cfi_endproc;                \
    .size name##_run, . - name##_run;

    .text
PHASE(first)
PHASE(other)

    .section .note.GNU-stack, "", @progbits
