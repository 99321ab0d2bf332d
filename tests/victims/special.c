// Works in memory of a special kind and checks its own results. argv: KIND [rounds] [FILE]
//   shared     a table in FILE, mapped shared: it is counted up in order, and checked at the end
//   device     data of the vDSO, which the kernel shows to this process only
//   truncated  a mapping whose FILE shrinks and grows: SIGBUS is handled, and counted
//   sparse     a reservation of 64 GiB, in which one page in every 64 MiB is used
//   huge       huge pages, if the kernel gives them (MADV_HUGEPAGE)
//   hugetlb    pages of hugetlbfs; status 77 where there are none
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

#define MIB ((size_t)1 << 20)

static long rounds = 2000000;
static const char* path;

static void* map(size_t bytes, int flags, int fd) {
    void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static int open_file(off_t bytes) {
    const int fd = path == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    return fd >= 0 && ftruncate(fd, bytes) == 0 ? fd : -1;
}

// Counts words up in turns; consecutive words are `stride` words apart. Returns 0 if each word was
// counted as often as it should.
__attribute__((noinline)) static int count_up(uint64_t* words, size_t count, size_t stride) {
    uint64_t state = 1;
    for (long round = 0; round < rounds; ++round) {
        uint64_t* word = words + (size_t)round % count * stride;
        ++*word;
        state = work(state + *word, 40);
    }
    int wrong = state == 0;
    for (size_t i = 0; i < count; ++i)
        wrong |= words[i * stride] != (uint64_t)rounds / count + (i < (uint64_t)rounds % count);
    return wrong;
}

static int on_shared(void) {
    const int fd = open_file(4096);
    uint64_t* words = fd < 0 ? NULL : map(4096, MAP_SHARED, fd);
    return words == NULL ? 2 : count_up(words, 512, 1);
}

__attribute__((noinline)) static uint64_t read_device(const volatile uint64_t* words) {
    uint64_t sum = 0;
    for (int i = 0; i < 64; ++i) sum += words[i];
    return sum;
}

static int on_device(void) {
    unsigned long start = 0;
    char line[512];
    FILE* maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "[vvar]") != NULL) start = strtoul(line, NULL, 16);
    if (start == 0) return 77;
    uint64_t state = 1;
    for (long round = 0; round < rounds; ++round)
        state = work(state + read_device((const volatile uint64_t*)start), 20);
    return state == 0;
}

static sigjmp_buf past_fault;
static volatile long faults;

static void on_bus(int signal) {
    (void)signal;
    ++faults;
    siglongjmp(past_fault, 1);
}

static int on_truncated(void) {
    const int fd = open_file(2 * 4096);
    volatile char* memory = fd < 0 ? NULL : map(2 * 4096, MAP_SHARED, fd);
    if (memory == NULL) return 2;
    signal(SIGBUS, on_bus);
    volatile uint64_t state = 1;
    const long times = rounds / 2000;
    for (long round = 0; round < times; ++round) {
        if (ftruncate(fd, 4096) != 0) return 2;
        state = work(state, 20000);
        if (sigsetjmp(past_fault, 1) == 0) state += (uint64_t)memory[4096];
        if (ftruncate(fd, 2 * 4096) != 0) return 2;
        state = work(state + (uint64_t)memory[4096], 20000);
    }
    return faults != times || state == 0;
}

static int on_sparse(void) {
    uint64_t* words = map(65536 * MIB, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    return words == NULL ? 77 : count_up(words, 1024, 64 * MIB / sizeof *words);
}

static int on_huge(void) {
    uint64_t* words = map(16 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (words == NULL) return 2;
    madvise(words, 16 * MIB, MADV_HUGEPAGE);
    return count_up(words, 4096, 512);
}

static int on_hugetlb(void) {
    uint64_t* words = map(4 * MIB, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
    return words == NULL ? 77 : count_up(words, 1024, 512);
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        int (*run)(void);
    } kinds[] = {{"shared", on_shared}, {"device", on_device}, {"truncated", on_truncated},
                 {"sparse", on_sparse}, {"huge", on_huge},     {"hugetlb", on_hugetlb}};
    if (argc > 2) rounds = atol(argv[2]);
    if (argc > 3) path = argv[3];
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; ++i) {
        if (strcmp(kinds[i].name, argv[1]) != 0) continue;
        const int status = kinds[i].run();
        printf("special: %s %s\n", argv[1], status ? "HARMED" : "unharmed");
        return status;
    }
    return 2;
}
