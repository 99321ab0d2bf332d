// Computes with data that its forks find zeroed (MADV_WIPEONFORK), which lies between data that
// they do not, and checks at the end that this has not changed. No data is ever zero in this
// process: only an emulation that reads wrong memory calls seen_zero(). argv: [rounds]
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

enum { pages = 16, page_words = 4096 / sizeof(uint64_t) };

__attribute__((noinline)) static uint64_t seen_zero(uint64_t state) {
    __asm__ volatile("");
    return state + 1;
}

__attribute__((noinline)) static uint64_t seen_data(uint64_t state) {
    __asm__ volatile("");
    return state ^ 5;
}

static int is_zero_in_a_fork(const uint64_t* word) {
    const pid_t child = fork();
    if (child == 0) _exit(*word == 0);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

int main(int argc, char** argv) {
    const long rounds = argc > 1 ? atol(argv[1]) : 6000000;
    uint64_t* memory =
        mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < pages; ++i) {
        memory[i * page_words] = (uint64_t)i + 1;
        if (i % 2 == 0 && madvise(memory + i * page_words, 4096, MADV_WIPEONFORK) != 0) return 2;
    }
    uint64_t state = 1;
    for (long round = 0; round < rounds; ++round) {
        const uint64_t word = *(volatile uint64_t*)&memory[round % pages * page_words];
        state = word == 0 ? seen_zero(state) : seen_data(state);
        state = work(state, 50);
    }
    for (int i = 0; i < pages; ++i) {
        if (is_zero_in_a_fork(memory + i * page_words) == (i % 2 == 0)) continue;
        printf("wiped: page %d is not as it was\n", i);
        return 1;
    }
    printf("wiped: %ld rounds\n", rounds);
    return state == 0;
}
