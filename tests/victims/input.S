/* One branch on input bytes: input_low is taken for bytes below 64, which are one quarter of the
 * bytes that input.c sends, in random order. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl input_sum
    .type input_sum, @function
/* uint64_t input_sum(const unsigned char* bytes, size_t count, uint64_t sum), count > 0: for each
 * byte, adds 3 if it is below 64 and 1 otherwise, then multiplies by 5 */
input_sum:
    .cfi_startproc
    mov %rdx, %rax
PLACE(input_loop)
    movzbl (%rdi), %ecx
    lea (%rax,%rax,4), %rax
    inc %rdi
    cmp $64, %ecx
PLACE(input_low)
    jb input_low_taken
PLACE(input_low_not)
    add $1, %rax
    jmp input_next
PLACE(input_low_taken)
    add $3, %rax
    jmp input_next
PLACE(input_next)
    dec %rsi
PLACE(input_back)
    jnz input_loop
PLACE(input_leave)
    ret
    .cfi_endproc
    .size input_sum, . - input_sum

    .section .note.GNU-stack, "", @progbits
