// Works in memory that its forks do not get (MADV_DONTFORK), which lies between memory that they do
// get, and checks at the end that this has not changed.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

enum { pages = 64, page_bytes = 4096 };

// Whether a new child has the page.
static int is_forked(void* page) {
    const pid_t child = fork();
    unsigned char resident;
    if (child == 0) _exit(mincore(page, page_bytes, &resident) == 0);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

int main(int argc, char** argv) {
    const long rounds = argc > 1 ? atol(argv[1]) : 4000000;
    char* memory =
        mmap(NULL, pages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < pages; i += 2) {
        if (i % 8 == 4) munmap(memory + (i + 1) * page_bytes, page_bytes);
        if (madvise(memory + i * page_bytes, page_bytes, MADV_DONTFORK) != 0) return 2;
    }
    uint64_t state = 1;
    for (long round = 0; round < rounds; ++round) {
        uint64_t* word = (uint64_t*)(memory + round % (pages / 2) * 2 * page_bytes);
        state = work(state + *word, 100);
        *word = state;
    }
    for (int i = 0; i < pages; ++i) {
        if (i % 8 == 5) continue;
        if (is_forked(memory + i * page_bytes) != i % 2) {
            printf("unforked: page %d is not as it was\n", i);
            return 1;
        }
    }
    printf("unforked: %ld rounds\n", rounds);
    return state == 0;
}
