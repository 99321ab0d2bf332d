// The layout of the data in the scratch memory, for C++ and for the assembler.
#pragma once

// One cache line for the question, and one for the answer.
#define TIMER_QUESTION 0
#define TIMER_FIRST 8
#define TIMER_LAST 16
#define TIMER_ANSWER 64
#define TIMER_CYCLES 72
#define TIMER_BYTES 80
// The frame of rt_sigreturn(2).
#define TIMER_FRAME 4096
