// Where things lie in the data of the scratch memory. Read by C++ and by the assembler.
#pragma once

// One cache line for what is asked, one for the answer.
#define TIMER_QUESTION 0
#define TIMER_FIRST 8
#define TIMER_LAST 16
#define TIMER_ANSWER 64
#define TIMER_CYCLES 72
#define TIMER_BYTES 80
// The frame of rt_sigreturn(2).
#define TIMER_FRAME 4096
