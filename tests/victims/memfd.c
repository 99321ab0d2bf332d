// Executes programs and libraries that are in no file system. argv:
//   program FILE [WORDS]    executes a copy of FILE in a memfd with these words, as runc does
//   library FILE ROUNDS     calls a plugin (plugin.c) in a copy of FILE in a memfd, which is closed
//                           once it is loaded
//   code ROUNDS             calls code that it writes to a memfd, as some just-in-time compilers do
// Exits with 77 if that is not allowed here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

extern char** environ;

static int copy_of(const char* path, const char* name) {
    const int copy = memfd_create(name, MFD_CLOEXEC), file = open(path, O_RDONLY | O_CLOEXEC);
    if (copy < 0) exit(77);
    if (file < 0) exit(2);
    while (sendfile(copy, file, NULL, 1 << 20) > 0) continue;
    close(file);
    return copy;
}

static int call_library(const char* path, long rounds) {
    char link[64];
    const int copy = copy_of(path, "a library");
    snprintf(link, sizeof link, "/proc/self/fd/%d", copy);
    void* library = dlopen(link, RTLD_NOW);
    uint64_t (*work)(uint64_t) = library ? (uint64_t(*)(uint64_t))dlsym(library, "plugin") : NULL;
    close(copy);
    uint64_t state = 1;
    if (work == NULL) return 77;
    for (long round = 0; round < rounds; ++round) state = work(state);
    return state == 0;
}

static int call_code(long rounds) {
    // mov rax, rdi; add rax, 1; dec esi; jnz to the add; ret
    static const unsigned char code[] = {0x48, 0x89, 0xf8, 0x48, 0x05, 1,    0,
                                         0,    0,    0xff, 0xce, 0x75, 0xf6, 0xc3};
    const int file = memfd_create("jit", MFD_CLOEXEC);
    if (file < 0 || write(file, code, sizeof code) != (ssize_t)sizeof code) return 77;
    void* memory = mmap(NULL, sizeof code, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return 77;
    uint64_t (*made)(uint64_t, int) = (uint64_t(*)(uint64_t, int))memory;
    for (long round = 0; round < rounds; ++round)
        if (made(1, 1000) != 1001) return 1;
    return 0;
}

int main(int argc, char** argv) {
    if (argc > 2 && strcmp(argv[1], "program") == 0) {
        fexecve(copy_of(argv[2], "a program"), argv + 2, environ);
        return 77;
    }
    if (argc > 3 && strcmp(argv[1], "library") == 0) return call_library(argv[2], atol(argv[3]));
    if (argc > 2 && strcmp(argv[1], "code") == 0) return call_code(atol(argv[2]));
    return 2;
}
