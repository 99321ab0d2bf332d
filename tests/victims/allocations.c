// Allocates memory through most allocators, each from a function of its own, and frees it.
//
// allocations ROUNDS: in each round `take_small` asks for 24 bytes five times, and each other
// function once for what its name is followed by below. The operators of C++ are this program's:
// `new` asks malloc, and `new[]` jumps to `new`.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

void* operator_new(size_t bytes) __asm__("_Znwm");
void* operator_new_array(size_t bytes) __asm__("_Znam");

// It asks for more than it is asked for, so that its own request would be seen.
__attribute__((noinline)) void* operator_new(size_t bytes) {
    void* const block = malloc(bytes + 8);
    if (block == NULL) exit(1);
    return block;
}
// Through the linkage table, as in libraries, if the program has one.
__asm__(
    ".text\n.globl _Znam\n.type _Znam, @function\n_Znam: jmp _Znwm@PLT\n.size _Znam, . - _Znam");

static volatile size_t too_much = (size_t)1 << 63;

static void use(void* block) {
    __asm__ volatile("" : : "r"(block) : "memory");
    free(block);
}

#define TAKE(name, ...)                         \
    __attribute__((noinline)) void name(void) { \
        void* block = __VA_ARGS__;              \
        __asm__ volatile("" : "+r"(block));     \
        use(block);                             \
    }

TAKE(take_small, malloc(24))                // 24
TAKE(take_cleared, calloc(3, 50))           // 150
TAKE(take_object, operator_new(100))        // 100
TAKE(take_array, operator_new_array(200))   // 200
TAKE(take_aligned, aligned_alloc(64, 640))  // 640
TAKE(take_too_much, malloc(too_much))       // nothing, as that fails

__attribute__((noinline)) void take_growing(void) {  // 1000 + 2000 + 3000
    void* block = NULL;
    block = realloc(block, 1000);
    block = realloc(block, 2000);
    use(reallocarray(block, 30, 100));
}
__attribute__((noinline)) void take_posix(void) {  // 320
    void* block = NULL;
    if (posix_memalign(&block, 32, 320) == 0) use(block);
}

static void* in_thread(void* argument) {
    take_small();
    return argument;
}

static void round_of_all(void) {
    for (int i = 0; i < 4; ++i) take_small();
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        exit(1);
    take_cleared();
    take_object();
    take_array();
    take_aligned();
    take_too_much();
    take_growing();
    take_posix();
}

int main(int argc, char** argv) {
    const long rounds = argc > 1 ? atol(argv[1]) : 10;
    for (long i = 0; i < rounds; ++i) round_of_all();
    printf("allocations: %ld\n", rounds);
    return 0;
}
