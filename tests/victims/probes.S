/* One loop in which each kind of event of docs/probes.md happens in the stated share of the n
 * iterations (a multiple of 4). Linked at a fixed address, so that the addresses of variables are
 * known. */
#include "victim.S.h"
/* To be put behind a call. Profiles name a call site by the call's last byte. */
#define CALLER(name) .globl name; .set name, . - 1

    .text
    .p2align 6
    .globl probes_run
    .type probes_run, @function
/* uint64_t probes_run(uint64_t iterations) */
probes_run:
    .cfi_startproc
    push %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset %rbx, -16
    push %r12
    .cfi_def_cfa_offset 24
    .cfi_offset %r12, -24
    push %r13
    .cfi_def_cfa_offset 32
    .cfi_offset %r13, -32
    xor %ebx, %ebx              /* the result */
    xor %r12d, %r12d            /* i */
    mov %rdi, %r13
probes_loop:
    mov %r12d, %eax
    and $3, %eax
    mov $10, %ecx
    mov $7, %edx
    cmp $3, %eax
    cmove %edx, %ecx
    mov %r12, %rax
    xor %edx, %edx
PLACE(probes_divide)            /* by 10: 3/4, by 7: 1/4 */
    div %rcx
    add %rax, %rbx

    mov $24, %edi
    call grab               /* grabs 24 */
CALLER(probes_first_caller)
    mov %r12d, %edi
    and $63, %edi
    add $64, %edi
    call grab               /* grabs 64 to 127 */
CALLER(probes_second_caller)
    add %rax, %rbx

    call share_one
    call share_two
    mov $probes_data, %edi
    call vectors

    mov $probes_copied, %edi
    mov $probes_data, %esi
    mov $8, %edx
    call copy
    mov $probes_copied, %edi
    mov $probes_data, %esi
    mov $50, %edx
    call copy

    mov %r12d, %edi
    and $3, %edi
    shr $1, %edi
    call choose                 /* 0: 1/2, 1: 1/2 */
    add %rax, %rbx
    xor %edi, %edi
    call choose                 /* 0 */
    add %rax, %rbx

    xor %eax, %eax
    xor %ecx, %ecx
    lock cmpxchg %ecx, probes_first_lock(%rip)
    lock cmpxchg %ecx, probes_first_lock(%rip)
    lock cmpxchg %ecx, probes_second_lock(%rip)

    mov %r12d, %edi
    and $3, %edi
    mov $probes_pointers, %esi
    call walk
    add %rax, %rbx

    mov $3, %edi
    mov $probes_base, %esi
    mov %rsp, (%rsi)
    call descend

    mov %r12d, %eax
    and $1, %eax
    mov %eax, probes_variable(%rip)
PLACE(probes_first_reader)      /* 0: 1/2, 1: 1/2 */
    mov probes_variable(%rip), %eax
    add %rax, %rbx
PLACE(probes_second_reader)
    cmpl $0, probes_variable(%rip)
    inc %r12
    cmp %r13, %r12
    jne probes_loop
    mov %rbx, %rax
    pop %r13
    .cfi_def_cfa_offset 24
    pop %r12
    .cfi_def_cfa_offset 16
    pop %rbx
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size probes_run, . - probes_run

#define FUNCTION(name) .globl name; .type name, @function; name: .cfi_startproc
#define END(name) .cfi_endproc; .size name, . - name

FUNCTION(grab)
    mov %rdi, %rax
    ret
END(grab)

FUNCTION(share_one)
PLACE(probes_one_writes)
    mov %r12, probes_line(%rip)
    ret
END(share_one)

FUNCTION(share_two)
PLACE(probes_two_writes)
    mov %r12, 8+probes_line(%rip)
PLACE(probes_two_adds)
    addq $1, 16+probes_line(%rip)
    ret
END(share_two)

FUNCTION(vectors)               /* modulo 16: 0, 0, 4, 8 */
    movdqu (%rdi), %xmm0
    movdqu 16(%rdi), %xmm0
    movdqu 4(%rdi), %xmm0
    movdqu 8(%rdi), %xmm0
    ret
END(vectors)

FUNCTION(copy)
    mov %edx, %ecx
    rep movsb
    ret
END(copy)

FUNCTION(choose)
    nop                         /* the next instruction gets a label of its own */
PLACE(probes_choice)
    jmp *probes_table(,%rdi,8)
probes_zero:
    mov $1, %eax
    ret
probes_one:
    mov $2, %eax
    ret
END(choose)

FUNCTION(walk)
PLACE(probes_pointer)           /* 0: 1/4 */
    mov (%rsi,%rdi,8), %rax
    ret
END(walk)

FUNCTION(descend)               /* at 8, 24, 40 and 56 bytes below the base */
    test %edi, %edi
    je probes_bottom
    sub $8, %rsp
    .cfi_def_cfa_offset 16
    dec %edi
    call descend
    add $8, %rsp
    .cfi_def_cfa_offset 8
probes_bottom:
    ret
END(descend)

    .data
    .globl probes_line, probes_first_lock, probes_second_lock, probes_variable
    .p2align 6
probes_line:
    .fill 64
probes_data:
    .fill 64
probes_copied:
    .fill 64
probes_pointers:
    .quad 0, 5, 6, 7
probes_table:
    .quad probes_zero, probes_one
probes_base:
    .quad 0
probes_first_lock:
    .long 0
probes_second_lock:
    .long 0
probes_variable:
    .long 0
    .section .note.GNU-stack, "", @progbits
