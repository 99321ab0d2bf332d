// Makes code while it runs, and checks what that code computes. argv: HOW [rounds]
//   rewrite   changes an instruction of a function in writable and executable memory, calls the
//             function, and so on
//   protect   writes a function, makes its memory executable and not writable, calls it, makes
//             the memory writable again, and so on
//   move      copies a function to another place every hundred calls, and names each copy in
//             /tmp/perf-PID.map
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { page = 4096, places = 8, steps = 2000 };

// Adds an immediate operand (at `operand_at`) to the first argument; the second one says how often.
static const unsigned char code[] = {
    0x48, 0x89, 0xf8,                    // mov rax, rdi
    0x48, 0x05, 0x00, 0x00, 0x00, 0x00,  // add rax, 0
    0xff, 0xce,                          // dec esi
    0x75, 0xf6,                          // jnz to the add
    0xc3,                                // ret
};
enum { operand_at = 5 };

typedef uint64_t (*function)(uint64_t, int);

static function write_code(unsigned char* at, int32_t operand) {
    memcpy(at, code, sizeof code);
    memcpy(at + operand_at, &operand, sizeof operand);
    return (function)at;
}

static unsigned char* map_pages(int count, int protection) {
    void* memory = mmap(NULL, (size_t)count * page, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static int is_right(function made, uint64_t round, int32_t operand) {
    return made(round, steps) == round + (uint64_t)steps * (uint64_t)operand;
}

static int rewrite(long rounds) {
    unsigned char* memory = map_pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    if (memory == NULL) return 77;
    const function made = write_code(memory, 1);
    for (long round = 0; round < rounds; ++round) {
        const int32_t operand = (int32_t)(round % 7) + 1;
        memcpy(memory + operand_at, &operand, sizeof operand);
        if (!is_right(made, (uint64_t)round, operand)) return 1;
    }
    return 0;
}

static int protect(long rounds) {
    unsigned char* memory = map_pages(1, PROT_READ | PROT_WRITE);
    if (memory == NULL) return 2;
    for (long round = 0; round < rounds; ++round) {
        const int32_t operand = (int32_t)(round % 7) + 1;
        const function made = write_code(memory, operand);
        if (mprotect(memory, page, PROT_READ | PROT_EXEC) != 0) return 77;
        if (!is_right(made, (uint64_t)round, operand)) return 1;
        if (mprotect(memory, page, PROT_READ | PROT_WRITE) != 0) return 2;
    }
    return 0;
}

static int move(long rounds) {
    unsigned char* memory = map_pages(places, PROT_READ | PROT_WRITE | PROT_EXEC);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE* names = fopen(path, "w");
    if (memory == NULL || names == NULL) return 77;
    function made = NULL;
    for (long round = 0; round < rounds; ++round) {
        if (round % 100 == 0) {
            unsigned char* place = memory + round / 100 % places * page;
            if (made != NULL) memset((void*)made, 0xcc, sizeof code);
            made = write_code(place, 3);
            fprintf(names, "%lx %zx moving\n", (unsigned long)place, sizeof code);
            fflush(names);
        }
        if (!is_right(made, (uint64_t)round, 3)) return 1;
    }
    return 0;
}

int main(int argc, char** argv) {
    const long rounds = argc > 2 ? atol(argv[2]) : 500000;
    int status = 2;
    if (argc > 1 && strcmp(argv[1], "rewrite") == 0) status = rewrite(rounds);
    if (argc > 1 && strcmp(argv[1], "protect") == 0) status = protect(rounds);
    if (argc > 1 && strcmp(argv[1], "move") == 0) status = move(rounds);
    printf("jit: %s\n", status ? "WRONG" : "right");
    return status;
}
