/* Walks and a chase through memory, whose misses are known: see tests/e2e/test_cache.py. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl caches_walk
    .type caches_walk, @function
/* uint64_t caches_walk(const char* memory, uint64_t bytes, uint64_t stride): the sum of words */
caches_walk:
    .cfi_startproc
    xor %eax, %eax
    add %rdi, %rsi
1:
PLACE(caches_walk_load)
    add (%rdi), %rax
    add %rdx, %rdi
    cmp %rsi, %rdi
    jb 1b
    ret
    .cfi_endproc
    .size caches_walk, . - caches_walk

    .globl caches_fill
    .type caches_fill, @function
/* void caches_fill(char* memory, uint64_t bytes, uint64_t stride): ones */
caches_fill:
    .cfi_startproc
    add %rdi, %rsi
1:
PLACE(caches_fill_store)
    movq $1, (%rdi)
    add %rdx, %rdi
    cmp %rsi, %rdi
    jb 1b
    ret
    .cfi_endproc
    .size caches_fill, . - caches_fill

    .globl caches_chase
    .type caches_chase, @function
/* void* caches_chase(void* start, uint64_t steps) */
caches_chase:
    .cfi_startproc
    mov %rdi, %rax
1:
PLACE(caches_chase_load)
    mov (%rax), %rax
    dec %rsi
    jnz 1b
    ret
    .cfi_endproc
    .size caches_chase, . - caches_chase

    .section .note.GNU-stack, "", @progbits
