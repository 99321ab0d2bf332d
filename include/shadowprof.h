/* Requests of a program to shadowprof: where counting begins and ends.
 *
 *     #include <shadowprof.h>
 *
 *     prepare();
 *     SHADOWPROF_START();
 *     kernel();
 *     SHADOWPROF_STOP();
 *     SHADOWPROF_DUMP("kernel");
 *
 *     shadowprof run --mode=exact --count-at-start=no ./program
 *
 * Only exact mode (--mode=exact) follows requests. Otherwise each of them is a handful of
 * instructions that change nothing, so that they can stay in a program. They need a compiler that
 * knows GCC's inline assembler, on x86-64; elsewhere they are nothing.
 *
 * shadowprof also follows the requests of valgrind's callgrind.h. This header stands alone.
 */
#ifndef SHADOWPROF_H
#define SHADOWPROF_H

#define SHADOWPROF_REQUEST_IS_COUNTED 0x53500000UL
#define SHADOWPROF_REQUEST_START 0x53500001UL
#define SHADOWPROF_REQUEST_STOP 0x53500002UL
#define SHADOWPROF_REQUEST_ZERO 0x53500003UL
#define SHADOWPROF_REQUEST_DUMP 0x53500004UL

/* Makes the request `number` with an argument. Returns the answer, or `by_default` where nobody
 * follows requests. */
static inline unsigned long shadowprof_request(unsigned long by_default, unsigned long number,
                                               const void* argument) {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    volatile unsigned long words[6] = {number, (unsigned long)argument, 0, 0, 0, 0};
    unsigned long answer = by_default;
    /* The rotations add up to 128 bits, and the exchange is of a register with itself. */
    __asm__ volatile(
        "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
        "xchgq %%rbx, %%rbx"
        : "+d"(answer)
        : "a"(&words[0])
        : "cc", "memory");
    return answer;
#else
    (void)number, (void)argument;
    return by_default;
#endif
}

/* Whether exact mode follows this program: 1 or 0. */
#define SHADOWPROF_IS_COUNTED() shadowprof_request(0, SHADOWPROF_REQUEST_IS_COUNTED, 0)
/* From here on, what this process executes counts, or does not, in all its threads. */
#define SHADOWPROF_START() ((void)shadowprof_request(0, SHADOWPROF_REQUEST_START, 0))
#define SHADOWPROF_STOP() ((void)shadowprof_request(0, SHADOWPROF_REQUEST_STOP, 0))
/* Forgets all that was counted so far. */
#define SHADOWPROF_ZERO() ((void)shadowprof_request(0, SHADOWPROF_REQUEST_ZERO, 0))
/* Writes all that was counted since the last such request, or since the program began or asked to
 * forget, as a profile of its own: beside that of the run, with a number. `name` says in it what it
 * is of. */
#define SHADOWPROF_DUMP(name) ((void)shadowprof_request(0, SHADOWPROF_REQUEST_DUMP, (name)))

#endif
