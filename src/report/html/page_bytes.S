// The pages that make_page.py has put together, as bytes of the program.
    .section .rodata
    .globl shadowprof_page_begin, shadowprof_page_end
    .hidden shadowprof_page_begin, shadowprof_page_end
shadowprof_page_begin:
    .incbin SHADOWPROF_PAGE
shadowprof_page_end:
    .globl shadowprof_diff_page_begin, shadowprof_diff_page_end
    .hidden shadowprof_diff_page_begin, shadowprof_diff_page_end
shadowprof_diff_page_begin:
    .incbin SHADOWPROF_DIFF_PAGE
shadowprof_diff_page_end:
    .section .note.GNU-stack, "", @progbits
