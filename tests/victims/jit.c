// Makes code while it runs, and checks what that code computes. argv: HOW [rounds]
//   rewrite   changes an instruction of a function in writable and executable memory, calls the
//             function, and so on
//   protect   writes a function, makes its memory executable and not writable, calls it, makes
//             the memory writable again, and so on
//   move      copies a function to another place every hundred calls, and names each copy in
//             /tmp/perf-PID.map
//   dump      calls two functions, `heavy` and `light`, whose names and code are in ./jit-PID.dump.
//             heavy does three times the steps of light
//   dump-exec  as dump; then executes itself to do the same without a file of names
//   dump-fork  as dump; then a child writes the functions `child_heavy` and `child_light` to the
//             same places, has a file of their names, and calls them

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
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

static int adds_right(function made, uint64_t round, int times, int32_t operand) {
    return made(round, times) == round + (uint64_t)times * (uint64_t)operand;
}

static int is_right(function made, uint64_t round, int32_t operand) {
    return adds_right(made, round, steps, operand);
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

// Opens a jitdump and maps it, by which profilers find it. Returns null if that is not allowed.
static FILE* open_dump(void) {
    char path[64];
    snprintf(path, sizeof path, "jit-%d.dump", (int)getpid());
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0) return NULL;
    const struct {
        uint32_t magic, version, size, machine, padding, pid;
        uint64_t timestamp, flags;
    } header = {0x4a695444, 1, sizeof header, 62, 0, (uint32_t)getpid(), 0, 0};
    FILE* dump = fdopen(file, "w");
    fwrite(&header, sizeof header, 1, dump);
    fflush(dump);
    void* shown = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    return shown == MAP_FAILED ? NULL : dump;
}

static void write_load(FILE* dump, const char* name, const void* start, uint64_t index) {
    const struct {
        uint32_t id, size;
        uint64_t timestamp;
        uint32_t pid, tid;
        uint64_t virtual_address, start, code_size, index;
    } load = {.size = (uint32_t)(sizeof load + strlen(name) + 1 + sizeof code),
              .pid = (uint32_t)getpid(),
              .tid = (uint32_t)getpid(),
              .virtual_address = (uint64_t)start,
              .start = (uint64_t)start,
              .code_size = sizeof code,
              .index = index};
    fwrite(&load, sizeof load, 1, dump);
    fwrite(name, strlen(name) + 1, 1, dump);
    fwrite(start, sizeof code, 1, dump);
    fflush(dump);
}

// Always at the same place, so that it is so after an exec without address randomisation, too.
static unsigned char* map_code(void) {
    static unsigned char* memory;
    if (memory == NULL) memory = map_pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    return memory;
}

// Without names if these are null.
static int call_both(long rounds, const char* heavy_name, const char* light_name) {
    unsigned char* memory = map_code();
    if (memory == NULL) return 77;
    const function heavy = write_code(memory, 3), light = write_code(memory + page / 2, 5);
    if (heavy_name != NULL) {
        FILE* dump = open_dump();
        if (dump == NULL) return 77;
        write_load(dump, heavy_name, memory, 0);
        write_load(dump, light_name, memory + page / 2, 1);
    }
    for (long round = 0; round < rounds; ++round)
        if (!adds_right(heavy, (uint64_t)round, 3 * steps, 3) || !is_right(light, 0, 5)) return 1;
    return 0;
}

static int dump_names(long rounds) {
    return call_both(rounds, "heavy", "light");
}

static int dump_and_exec(long rounds, char** argv) {
    const int status = dump_names(rounds);
    if (status != 0) return status;
    char how[] = "nameless";
    char* words[] = {argv[0], how, argv[2], NULL};
    execv(argv[0], words);
    return 2;
}

static int dump_and_fork(long rounds) {
    int status = dump_names(rounds);
    if (status != 0) return status;
    const pid_t child = fork();
    if (child == 0) _exit(call_both(rounds, "child_heavy", "child_light"));
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 2;
}

int main(int argc, char** argv) {
    const long rounds = argc > 2 ? atol(argv[2]) : 500000;
    int status = 2;
    if (argc > 1 && strcmp(argv[1], "rewrite") == 0) status = rewrite(rounds);
    if (argc > 1 && strcmp(argv[1], "protect") == 0) status = protect(rounds);
    if (argc > 1 && strcmp(argv[1], "move") == 0) status = move(rounds);
    if (argc > 1 && strcmp(argv[1], "dump") == 0) status = dump_names(rounds);
    if (argc > 2 && strcmp(argv[1], "dump-exec") == 0) status = dump_and_exec(rounds, argv);
    if (argc > 1 && strcmp(argv[1], "dump-fork") == 0) status = dump_and_fork(rounds);
    if (argc > 1 && strcmp(argv[1], "nameless") == 0) status = call_both(rounds, NULL, NULL);

    printf("jit: %s\n", status ? "WRONG" : "right");
    return status;
}
