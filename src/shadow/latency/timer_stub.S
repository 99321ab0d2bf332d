// A borrowed thread executes a copy of this code in its scratch memory; it never runs here. It
// waits for an address, times a load of it, and waits for the next. It uses no stack and no vector
// registers.
//
// r12: the data of timer_layout.h; r13: the time-stamp at which to give up; r14: number of the last
// question; rsp: the frame that rt_sigreturn(2) restores the thread from if nobody stops it before
// that.
#include "shadow/latency/timer_layout.h"

        .section .rodata
        .balign 64
        .globl shadowprof_timer_begin, shadowprof_timer_end
shadowprof_timer_begin:
1:      pause
        rdtsc
        shl     $32, %rdx
        or      %rdx, %rax
        cmp     %r13, %rax
        ja      2f
        mov     TIMER_QUESTION(%r12), %rcx
        cmp     %r14, %rcx
        je      1b
        mov     %rcx, %r14
        mov     TIMER_FIRST(%r12), %rdi
        mov     TIMER_LAST(%r12), %rsi
        mfence
        rdtsc
        shl     $32, %rdx
        or      %rdx, %rax
        mov     %rax, %rbx
        lfence
        movzbl  (%rdi), %r8d
        movzbl  (%rsi), %r9d
        lfence
        rdtsc
        shl     $32, %rdx
        or      %rdx, %rax
        sub     %rbx, %rax
        mov     %rax, TIMER_CYCLES(%r12)
        shl     $8, %r9d
        or      %r9d, %r8d
        mov     %r8, TIMER_BYTES(%r12)
        mov     %r14, TIMER_ANSWER(%r12)
        jmp     1b
2:      mov     $15, %eax
        syscall
        ud2
shadowprof_timer_end:
        .section .note.GNU-stack, "", @progbits
