/* System calls through one instruction, by two callers.
 *
 * In each iteration calls_often asks for getppid three times, each by its own call, and calls_seldom
 * for getuid once, both through calls_make. Some hundred instructions lie between the calls. The
 * return addresses have labels, too: profiles name a call site by the byte before. */
#include <asm/unistd_64.h>

#include "victim.S.h"

    .text
    .p2align 6
    .globl calls_run
    .type calls_run, @function
/* uint64_t calls_run(uint64_t iterations): returns the sum of all results */
calls_run:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    push %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    xor %r12d, %r12d
    mov %rdi, %rbx
calls_loop:
    call calls_often
PLACE(calls_often_return)
    call calls_seldom
PLACE(calls_seldom_return)
    mov $100, %ecx
calls_pause:
    dec %ecx
    jnz calls_pause
    dec %rbx
    jnz calls_loop
    mov %r12, %rax
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    pop %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
    .cfi_endproc
    .size calls_run, . - calls_run

    .type calls_often, @function
calls_often:
    .cfi_startproc
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    mov $__NR_getppid, %eax
    call calls_make
PLACE(calls_first_return)
    mov $__NR_getppid, %eax
    call calls_make
PLACE(calls_second_return)
    mov $__NR_getppid, %eax
    call calls_make
PLACE(calls_third_return)
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size calls_often, . - calls_often

    .type calls_seldom, @function
calls_seldom:
    .cfi_startproc
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    mov $__NR_getuid, %eax
    call calls_make
PLACE(calls_only_return)
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size calls_seldom, . - calls_seldom

    .type calls_make, @function
calls_make:
    .cfi_startproc
    nop                     /* the next instruction gets a label of its own */
PLACE(calls_system_call)
    syscall
    add %rax, %r12
    ret
    .cfi_endproc
    .size calls_make, . - calls_make

    .section .note.GNU-stack, "", @progbits
