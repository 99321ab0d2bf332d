// The page that make_page.py has put together, as bytes of the program.
    .section .rodata
    .globl shadowprof_page_begin, shadowprof_page_end
    .hidden shadowprof_page_begin, shadowprof_page_end
shadowprof_page_begin:
    .incbin SHADOWPROF_PAGE
shadowprof_page_end:
    .section .note.GNU-stack, "", @progbits
