; Many labels and macros, to be assembled.
%assign i 0
section .text
%rep 60000
label_%+i:
    mov rax, [rbx + rcx * 4 + i]
    vaddps ymm1, ymm2, [rdx + i]
    cmp rax, i
    jne label_%+i
%assign i i + 1
%endrep
