// Where things lie in the data of the scratch memory. Read by C++ and by the assembler.
#pragma once

// One cache line for what is asked, one for the answer.
#define PROBE_QUESTION 0
#define PROBE_FIRST 8
#define PROBE_LAST 16
#define PROBE_ANSWER 64
#define PROBE_CYCLES 72
#define PROBE_BYTES 80
#define PROBE_PROCESSOR 88
// The frame of rt_sigreturn(2).
#define PROBE_FRAME 4096
