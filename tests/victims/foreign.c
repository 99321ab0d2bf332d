// Reads memory that others write to while it computes, so that an emulation cannot be the same.
// "shared": its child counts in shared memory. "clock": it reads the kernel's clock page.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

// Counts the values that a word has during a loop. The loop is so long that the writer gets a turn
// even if it shares the processor.
static int changes_of(const volatile uint32_t* word) {
    int changes = 0;
    uint32_t last = *word;
    uint64_t state = 1;
    for (int i = 0; i < 100000; ++i) {
        state = work(state, 1000);
        const uint32_t now = *word;
        changes += now != last;
        last = now;
    }
    return state == 0 ? -1 : changes;
}

static int shared(void) {
    volatile uint32_t* word =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (word == MAP_FAILED) return -1;
    const pid_t child = fork();
    if (child == 0)
        for (;;) ++*word;
    while (*word == 0) usleep(1000);
    const int changes = changes_of(word);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return changes;
}

static int clock_page(void) {
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long start = 0;
    while (maps && start == 0 && fgets(line, sizeof line, maps))
        if (strstr(line, "[vvar]")) start = strtoul(line, NULL, 16);
    if (maps) fclose(maps);
    const volatile uint32_t* word = (const volatile uint32_t*)start;
    uint32_t sum = 0;
    for (int i = 0; start != 0 && i < 20; ++i) sum += word[i % 4];
    return sum == 1 ? 2 : 1;
}

int main(int argc, char** argv) {
    const int is_clock = argc > 1 && strcmp(argv[1], "clock") == 0;
    const int changes = is_clock ? clock_page() : shared();
    printf("foreign: %s\n", changes > 0 ? "changed" : "still");
    return changes > 0 ? 0 : 1;
}
