/* One loop of instructions whose results have known distributions.
 *
 * values_load picks at random from `table`, 1024 numbers that the caller provides.
 * values_constant always loads 42, values_counter counts iterations, values_periodic is 0, 1, 2 or
 * 3 with equal shares, values_byte writes 1 or 0 with equal shares, and values_vector loads the same
 * 16 bytes each time.
 *
 * values_scalar makes 0.5, 1.5, 2.5 or 3.5 in the low lane of a register whose upper lane counts,
 * values_single 0.5 or 1.5, values_doubles {1.5, -0.25} + {1.5, -0.25}, values_lanes
 * {1, 2, 3, -1} + {1, 2, 3, -1} in lanes of 32 bits. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl values_run
    .type values_run, @function
/* uint64_t values_run(uint64_t iterations, uint64_t random_state, const uint32_t* table) */
values_run:
    .cfi_startproc
    mov %rdx, %r10
    xor %r9d, %r9d
    xor %eax, %eax
    jmp values_loop

PLACE(values_loop)
    mov %rsi, %rcx          /* xorshift64 */
    shl $13, %rcx
    xor %rcx, %rsi
    mov %rsi, %rcx
    shr $7, %rcx
    xor %rcx, %rsi
    mov %rsi, %rcx
    shl $17, %rcx
    xor %rcx, %rsi
    mov %rsi, %rcx
    shr $54, %rcx
PLACE(values_load)
    mov (%r10,%rcx,4), %edx
    add %rdx, %rax
PLACE(values_constant)
    mov values_forty_two(%rip), %r8
    add %r8, %rax
PLACE(values_counter)
    lea 1(%r9), %r9
    mov %r9d, %r11d
PLACE(values_periodic)
    and $3, %r11d
    add %r11, %rax
    test $1, %r9b
PLACE(values_byte)
    setnz %r11b
PLACE(values_vector)
    movdqu values_pattern(%rip), %xmm3
    movq %r9, %xmm4
    punpcklqdq %xmm4, %xmm4
    mov %r9d, %r11d
    and $3, %r11d
PLACE(values_converted)
    cvtsi2sd %r11d, %xmm4
PLACE(values_scalar)
    addsd values_half(%rip), %xmm4
    and $1, %r11d
    cvtsi2ss %r11d, %xmm5
PLACE(values_single)
    addss values_half_single(%rip), %xmm5
    movapd values_two_doubles(%rip), %xmm6
PLACE(values_doubles)
    addpd %xmm6, %xmm6
    movdqa values_four_lanes(%rip), %xmm7
PLACE(values_lanes)
    paddd %xmm7, %xmm7
    cmp %rdi, %r9
PLACE(values_back)
    jne values_loop
PLACE(values_leave)
    ret
    .cfi_endproc
    .size values_run, . - values_run

    .section .rodata
    .p2align 4
values_pattern:
    .quad 0x0706050403020100, 0x0f0e0d0c0b0a0908
values_two_doubles:
    .double 1.5, -0.25
values_four_lanes:
    .long 1, 2, 3, -1
values_forty_two:
    .quad 42
values_half:
    .double 0.5
values_half_single:
    .float 0.5

    .section .note.GNU-stack, "", @progbits
