// Functions to emulate. Each returns a value in RAX that depends on everything that it does.
        .intel_syntax noprefix
        .text
#define FUNCTION(name) .globl name; .type name, @function; .p2align 4; name:
#define END(name) .size name, .-name

// rdi: iterations. Uses every displaced register in every role.
FUNCTION(test_displaced_registers)
        push rbx
        lea r8, [rip + test_table]
        xor eax, eax
        mov r9, rdi
        xor r10d, r10d
        mov r11, r8
1:      mov r10d, r9d
        and r10d, 7
        add rax, [r11 + r10*8]
        lea r11, [r8 + r10*8]
        xadd [r11], r9
        sub r9, [r11]
        neg r9
        imul r9, r10
        mov r11, r8
        xor rax, r9
        mov r9, rdi
        cmp r9, r10
        cmovb r9, r11
        bswap r9
        xor r9, rax
        shld rax, r9, 3
        adc rax, r11
        sub rax, r8
        dec rdi
        mov r9, rdi
        jnz 1b
        pop rbx
        ret
END(test_displaced_registers)

// rdi: destination, rsi: source, rdx: length. Copies, compares, scans, fills.
FUNCTION(test_strings)
        mov r9, rdi
        mov r10, rsi
        mov rcx, rdx
        rep movsb
        mov rdi, r9
        mov rsi, r10
        mov rcx, rdx
        repe cmpsb
        sete al
        movzx eax, al
        mov r11, rax
        mov rdi, r9
        mov rcx, rdx
        mov al, 'x'
        repne scasb
        mov rax, rdi
        sub rax, r9
        mov rdi, r9
        mov rcx, rdx
        shr rcx, 4
        push rax
        mov rax, r11
        rep stosq
        pop rax
        std
        lea rdi, [r9 + 40]
        lea rsi, [r9 + 20]
        mov ecx, 9
        rep movsb
        cld
        mov rsi, r9
        lodsb
        shl rax, 8
        add rax, rdi
        sub rax, r9
        ret
END(test_strings)

// Stack instructions of every kind; returns a mix of what was on the stack.
FUNCTION(test_stack)
        enter 32, 0
        mov qword ptr [rsp], 1
        mov qword ptr [rsp + 8], 77
        mov qword ptr [rsp + 16], 2
        mov qword ptr [rsp + 24], 3
        mov r9d, 3
        mov r10d, 4
        push rdi
        push r9
        push r10
        push rsp
        push 0x1234
        push -3
        push qword ptr [rsp + 8]
        pop rax
        pop qword ptr [rsp + 16]
        pop rcx
        pop rdx
        sub rdx, rsp
        add rax, rcx
        add rax, rdx
        pop r11
        pop r10
        add rax, r11
        cmp eax, eax
        pushfq
        pop rcx
        and ecx, 0x8d5
        add rax, rcx
        push 0x8d5
        popfq
        jno 1f
        jnc 1f
        add rax, 0x100000
1:      add rsp, 8
        add rax, [rsp]
        mov rcx, rsp
        leave
        sub rcx, rsp
        add rax, rcx
        ret
END(test_stack)

// AH..BH beside the stack pointer and RIP-relative operands, which need a borrowed register.
FUNCTION(test_high_bytes)
        push rbx
        sub rsp, 24
        mov rax, rdi
        mov rbx, rsi
        mov [rsp + 9], ah
        mov byte ptr [rsp + 10], 5
        add bh, [rsp + 10]
        mov ch, [rip + test_table + 3]
        xor ah, [rsp + 9]
        mov dh, ah
        mov [rip + test_scratch + 1], bh
        movzx eax, bh
        movzx edx, dh
        add eax, edx
        movzx ecx, ch
        add eax, ecx
        movzx ecx, byte ptr [rip + test_scratch + 1]
        shl rcx, 32
        add rax, rcx
        movzx ecx, byte ptr [rsp + 9]
        add rax, rcx
        add rsp, 24
        pop rbx
        ret
END(test_high_bytes)

// MULX with its results in the registers of its address, in either order, and in other registers.
        .macro multiply low, high, base, index
        lea r9, [rip + test_table]
        mov r10d, 2
        lea r11, [rip + test_table + 8]
        mov r\index, 3
        mulx r\high, r\low, [r\base + r\index*8 - 16]
        imul rax, rax, 31
        add rax, r\low
        imul rax, rax, 31
        add rax, r\high
        .endm
FUNCTION(test_multiply)
        mov rdx, 0xfedcba9876543210
        xor eax, eax
        multiply 9, 10, 9, 11
        multiply 11, 10, 9, 11
        multiply 9, 11, 9, 11
        multiply 11, 9, 9, 11
        multiply 10, 9, 9, 11
        multiply 10, 11, 9, 11
        multiply 9, 11, 9, 10
        multiply 10, 11, 9, 10
        multiply 9, 10, 11, 9
        multiply 9, 9, 11, 9
        ret
END(test_multiply)

// rdi: n. Fibonacci by recursion: calls and returns.
FUNCTION(test_fibonacci)
        cmp rdi, 2
        jae 1f
        mov rax, rdi
        ret
1:      push rbx
        push rdi
        dec rdi
        call test_fibonacci
        mov rbx, rax
        pop rdi
        sub rdi, 2
        call test_fibonacci
        add rax, rbx
        pop rbx
        ret
END(test_fibonacci)

// rdi: iterations. A switch by indirect jump, and calls through memory and registers.
FUNCTION(test_indirect)
        push rbx
        push r12
        push r13
        mov rbx, rdi
        xor r12d, r12d
        lea r13, [rip + test_jump_table]
1:      mov eax, ebx
        and eax, 3
        movsxd rax, dword ptr [r13 + rax*4]
        add rax, r13
        jmp rax
test_case0: add r12, 1
        jmp 2f
test_case1: lea r9, [rip + test_callee]
        call r9
        jmp 2f
test_case2: lea rax, [rip + test_callee]
        mov [rsp - 64], rax
        call [rsp - 64]
        jmp 2f
test_case3: lea rax, [rip + test_callee]
        push rax
        ret 0
2:      dec rbx
        jnz 1b
        mov rax, r12
        pop r13
        pop r12
        pop rbx
        ret
END(test_indirect)
FUNCTION(test_callee)
        lea r12, [r12 + r12*2 + 7]
        cmp dword ptr [rip + test_one], 1
        test ebx, 3
        jpo 1f
        je 1f
        lea rax, [rip + test_case0]
        push rax
1:      ret
END(test_callee)

// LOOP, JRCXZ, and flags that are live across them.
FUNCTION(test_loops)
        mov rcx, rdi
        xor eax, eax
        jrcxz 3f
1:      add rax, rcx
        stc
        loop 1b
        adc rax, 0
        mov ecx, 3
2:      inc rax
        cmp eax, 0
        loopne 2b
3:      mov ecx, 0
        jecxz 4f
        ud2
4:      ret
END(test_loops)

// rdi: pointer to 64 bytes. Vector registers survive everything around them.
FUNCTION(test_vectors)
        movdqu xmm0, [rdi]
        movdqu xmm9, [rdi + 16]
        paddq xmm0, xmm9
        movdqa xmm15, [rip + test_vector]
        pxor xmm15, xmm0
        movq rax, xmm15
        movhlps xmm15, xmm15
        movq rcx, xmm15
        add rax, rcx
        cvtsi2sd xmm1, rax
        sqrtsd xmm1, xmm1
        cvttsd2si rcx, xmm1
        add rax, rcx
        fild qword ptr [rdi]
        fsqrt
        fistp qword ptr [rip + test_scratch]
        add rax, [rip + test_scratch]
        ret
END(test_vectors)

// rdi: iterations. Counts in RCX: its values are known.
FUNCTION(test_counter)
        xor ecx, ecx
        .globl test_counter_loop
test_counter_loop:
        inc rcx
        mov r10, 7
        cmp rcx, rdi
        jne test_counter_loop
        mov rax, rcx
        ret
END(test_counter)

// rdi: 64-bit numbers, which are added up until an access faults. Each iteration has six instructions
// in three blocks.
FUNCTION(test_sum_until_fault)
        xor eax, eax
3:      lea rdx, [rdi + 1]
        .globl test_sum_access
test_sum_access:
        add rax, [rdi]
        jmp 1f
        ud2
1:      add rdi, 8
        test rdi, rdi
        jz 2f
        jmp 3b
2:      ret
END(test_sum_until_fault)

// rdi: address of a number. Counts it down to 0; no register but the flags changes.
FUNCTION(test_count_in_memory)
1:      dec qword ptr [rdi]
        nop
        jnz 1b
        ret
END(test_count_in_memory)

// rdi: iterations. Calls a function that ignores the flags, and in the last iteration one that returns
// ZF, which is then set.
FUNCTION(test_flags_at_call)
        push rbx
        mov rbx, rdi
1:      lea rax, [rip + test_flags_unused]
        lea rcx, [rip + test_flags_used]
        cmp rbx, 1
        cmove rax, rcx
        call rax
        dec rbx
        jnz 1b
        pop rbx
        ret
test_flags_unused:
        xor eax, eax
        ret
test_flags_used:
        sete al
        movzx eax, al
        ret
END(test_flags_at_call)

// rdi: memory that the emulator first reads in a signal handler. Returns the identification flag,
// which is set before the access.
FUNCTION(test_identification_over_fault)
        pushfq
        or dword ptr [rsp], 0x200000
        popfq
        mov rax, [rdi]
        pushfq
        pop rax
        and eax, 0x200000
        pushfq
        and dword ptr [rsp], ~0x200000
        popfq
        ret
END(test_identification_over_fault)

// rdi: 64 bytes. Accesses of many kinds; references_test.cc has their addresses.
FUNCTION(test_references)
        push rbx
        push r9
        mov rax, [rdi]
        mov [rdi + 8], eax
        lea rbx, [rdi + 32]
        mov cx, [rbx - 16]
        mov r9, rdi
        mov edx, 3
        add byte ptr [r9 + rdx * 8 + 5], 1
        inc rdx
        lock add dword ptr [r9 + rdx * 8 - 8], 1
        mov rsi, rdi
        mov rdi, [rdi + 56]
        mov rdi, [rdi + 56]
        movdqu [rdi + 16], xmm0
        mov rax, fs:[0]
        mov eax, [rip + test_one]
        mov ecx, 2
        cld
        rep movsb
        movsq
        push qword ptr [rbx]
        pop qword ptr [rbx + 8]
        prefetcht0 [rbx]
        mfence
        call 1f
        pop r9
        pop rbx
        ret
1:      ret
END(test_references)

// rdi: address of a pointer. Loads the pointer; the access through it faults.
FUNCTION(test_references_fault)
        mov rax, [rdi]
        .globl test_references_fault_access
test_references_fault_access:
        push qword ptr [rax]
        ret
END(test_references_fault)

FUNCTION(test_writes)
        mov qword ptr [rip + test_scratch], 99
        mov rax, [rip + test_scratch]
        ret
END(test_writes)

FUNCTION(test_thread_pointer)
        mov rax, fs:[0]
        mov r9, 8
        mov rcx, fs:[r9 - 8]
        lea rax, [rax + 2 * rcx]
        ret
END(test_thread_pointer)

FUNCTION(test_fs_base)
        rdfsbase rax
        ret
END(test_fs_base)

FUNCTION(test_null)
        mov r10d, 55
        mov r9d, 44
        xor eax, eax
        .globl test_null_access
test_null_access:
        mov eax, [rax + 8]
        ret
END(test_null)

FUNCTION(test_divide)
        xor edx, edx
        xor ecx, ecx
        mov eax, 1
        div ecx
        ret
END(test_divide)

FUNCTION(test_syscall)
        mov eax, 39
        syscall
        .globl test_after_syscall
test_after_syscall:
        add rax, 1
        ret
END(test_syscall)

        .data
        .p2align 6
        .globl test_table, test_scratch, test_one
test_table: .quad 3, 0x1111222233334444, 5, 0x8000000000000001, 7, 11, 0x7fffffffffffffff, 13
test_vector: .quad 0x0123456789abcdef, 0xfedcba9876543210
test_scratch: .quad 0, 0
test_one: .long 1
        .section .rodata
        .p2align 2
test_jump_table:
        .long test_case0 - test_jump_table, test_case1 - test_jump_table
        .long test_case2 - test_jump_table, test_case3 - test_jump_table
        .section .note.GNU-stack, "", @progbits
