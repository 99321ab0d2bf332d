/* Loops of loads whose addresses repeat: one over a ring of scattered nodes, one over a table that is
 * so long that no address repeats soon. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl streams_walk
    .type streams_walk, @function
/* void* streams_walk(uint64_t steps, void** node): each node begins with the address of the next one */
streams_walk:
    .cfi_startproc
    mov %rsi, %rax
PLACE(streams_next)
    mov (%rax), %rax
    dec %rdi
PLACE(streams_back)
    jne streams_next
    ret
    .cfi_endproc
    .size streams_walk, . - streams_walk

    .p2align 6
    .globl streams_sum
    .type streams_sum, @function
/* uint64_t streams_sum(uint64_t count, const uint64_t* table) */
streams_sum:
    .cfi_startproc
    xor %eax, %eax
PLACE(streams_element)
    add (%rsi), %rax
    add $8, %rsi
    dec %rdi
    jne streams_element
    ret
    .cfi_endproc
    .size streams_sum, . - streams_sum

    .section .note.GNU-stack,"",@progbits
