/* One loop of loads with known sequences of addresses: a constant; steps of 8 bytes; steps of -64
 * bytes; the value that the load itself has read; the value that another load has read; random
 * addresses. Every 65536 iterations the two strides begin anew. */
#include "victim.S.h"

    .text
    .p2align 6
    .globl addresses_run
    .type addresses_run, @function
/* uint64_t addresses_run(uint64_t iterations, const uint64_t* table, void* const* list,
 *                        void* const* pointers, uint64_t random_state)
 * table: 65536 * 8 numbers. list: each element begins with the address of the next one.
 * pointers: 65536 addresses of elements. */
addresses_run:
    .cfi_startproc
    xor %eax, %eax
    xor %r9d, %r9d
    jmp addresses_loop

PLACE(addresses_loop)
    nop
PLACE(addresses_constant)
    mov (%rsi), %r10
    add %r10, %rax
    movzwl %r9w, %r10d
PLACE(addresses_forwards)
    add (%rsi,%r10,8), %rax
    mov %r10, %r11
PLACE(addresses_pointers)
    mov (%rcx,%r10,8), %r10
PLACE(addresses_pointed)
    mov 8(%r10), %r10
    add %r10, %rax
    xor $0xffff, %r11
    shl $6, %r11
PLACE(addresses_backwards)
    add (%rsi,%r11), %rax
PLACE(addresses_chase)
    mov (%rdx), %rdx
    add 8(%rdx), %rax
    mov %r8, %r10           /* xorshift64 */
    shl $13, %r10
    xor %r10, %r8
    mov %r8, %r10
    shr $7, %r10
    xor %r10, %r8
    mov %r8, %r10
    shl $17, %r10
    xor %r10, %r8
    movzwl %r8w, %r10d
PLACE(addresses_random)
    add (%rsi,%r10,8), %rax
    inc %r9
    cmp %rdi, %r9
PLACE(addresses_back)
    jne addresses_loop
PLACE(addresses_leave)
    ret
    .cfi_endproc
    .size addresses_run, . - addresses_run
    .section .note.GNU-stack, "", @progbits
