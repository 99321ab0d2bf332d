// An interrupted restartable sequence goes to its abort handler: no increment is lost.
// diverges: it may be moved to another processor, or a sequence aborted
#include <sched.h>
#include <sys/rseq.h>

#include "check.h"

enum { max_processors = 4096, increments = 30000 };

static uint64_t counters[max_processors];

// Tries once. Returns 0 if the processor's counter was incremented. The sequence is long, so that
// it is interrupted.
__attribute__((noinline)) static int try_increment(struct rseq* area, uint64_t* aborted) {
    __asm__ goto volatile(
        ".pushsection __rseq_cs, \"aw\"\n\t"
        ".balign 32\n"
        "3: .long 0, 0\n\t"
        ".quad 1f, 2f - 1f, 4f\n\t"
        ".popsection\n\t"
        "lea 3b(%%rip), %%rax\n\t"
        "mov %%rax, 8(%0)\n"
        "1: mov 4(%0), %%eax\n\t"
        "mov (%1, %%rax, 8), %%rdx\n\t"
        "mov $100, %%ecx\n"
        "5: dec %%ecx\n\t"
        "jnz 5b\n\t"
        "inc %%rdx\n\t"
        "mov %%rdx, (%1, %%rax, 8)\n"
        "2: jmp %l[done]\n\t"
        ".pushsection __rseq_failure, \"ax\"\n\t"
        ".byte 0x0f, 0xb9, 0x3d\n\t"
        ".long 0x53053053\n"
        "4: jmp %l[abort]\n\t"
        ".popsection"
        :
        : "r"(area), "r"(counters)
        : "rax", "rdx", "rcx", "memory", "cc"
        : done, abort);
done:
    return 0;
abort:
    ++*aborted;
    return 1;
}

int main(void) {
    if (__rseq_size == 0) skip("the C library has no restartable sequences");
    struct rseq* area = (struct rseq*)((char*)__builtin_thread_pointer() + __rseq_offset);
    uint64_t aborted = 0, sum = 0;
    for (int done = 0; done < increments; ++done) {
        while (try_increment(area, &aborted) != 0) {
        }
        if (done % 300 == 0) CHECK(area->cpu_id < max_processors);
        if (done % 300 == 0) sched_yield();
    }
    for (int each = 0; each < max_processors; ++each) sum += counters[each];
    CHECK(sum == increments);
    printf("%d increments\n", increments);
}
