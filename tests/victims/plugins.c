// Loads one library, uses and unloads it, then loads another one, which gets the same address.
// argv: FIRST SECOND [rounds]
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t call_plugin(const char* path, uint64_t argument, void** place) {
    void* library = dlopen(path, RTLD_NOW);
    uint64_t (*work)(uint64_t) = library ? (uint64_t(*)(uint64_t))dlsym(library, "plugin") : NULL;
    if (work == NULL) exit(2);
    *place = (void*)work;
    const uint64_t result = work(argument);
    dlclose(library);
    return result;
}

int main(int argc, char** argv) {
    const long rounds = argc > 3 ? atol(argv[3]) : 2000;
    if (argc < 3) return 2;
    void *first = NULL, *second = NULL;
    uint64_t state = 1;
    for (long round = 0; round < rounds; ++round) {
        state = call_plugin(argv[1], state, &first);
        state = call_plugin(argv[2], state, &second);
    }
    printf("plugins: %s place\n", first == second ? "same" : "another");
    return state == 0;
}
