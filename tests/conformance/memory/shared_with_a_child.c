// Parent and child see each other's writes to shared anonymous memory.
// diverges: children write to memory that it shares with them
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "child.h"

int main(void) {
    atomic_int* words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(words != MAP_FAILED);
    const pid_t child = CALL(fork());
    for (int round = 1; round <= 100; ++round) {
        if (child == 0) {
            while (words[0] != round) sched_yield();
            words[1] = round * 3;
        } else {
            words[0] = round;
            while (words[1] != round * 3) sched_yield();
        }
        spin(20000);
    }
    if (child == 0) _exit(0);
    expect_exit(child, 0);
    printf("%d %d\n", words[0], words[1]);
}
