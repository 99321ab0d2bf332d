// Leaves frames of its stack by exceptions. Each work_ function is called from one place: see
// test_stacks.py.
//
// exceptions [ROUNDS]
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#define OWN_FRAME __attribute__((noinline))

static volatile long sink;

OWN_FRAME static void work_after_catch() {
    for (volatile long i = 0; i < 500; i = i + 1) sink = 1;
}
OWN_FRAME static void work_in_destructor() {
    for (volatile long i = 0; i < 500; i = i + 1) sink = 2;
}
OWN_FRAME static void work_in_coroutine() {
    for (volatile long i = 0; i < 500; i = i + 1) sink = 3;
}

struct Cleanup {
    ~Cleanup() { work_in_destructor(); }
};

OWN_FRAME static void throw_from(int depth) {
    if (depth == 0) throw std::runtime_error("thrown");
    throw_from(depth - 1);
    sink = sink + 1;
}
OWN_FRAME static void with_cleanup(int depth) {
    Cleanup cleanup;
    throw_from(depth);
    sink = sink + 1;
}
OWN_FRAME static void rethrow(int depth) {
    try {
        with_cleanup(depth);
    } catch (const std::exception&) {
        sink = sink + 1;
        throw;
    }
}
OWN_FRAME static void exceptions(int rounds) {
    for (int i = 0; i < rounds; ++i) {
        try {
            rethrow(i % 7);
        } catch (const std::exception&) {
            work_after_catch();
        }
    }
}

static ucontext_t main_context, coroutine_context;
static int left;

OWN_FRAME static void catches() {
    try {
        throw_from(3);
    } catch (const std::exception&) {
        work_in_coroutine();
    }
}
static void coroutine() {
    for (;;) {
        catches();
        swapcontext(&coroutine_context, &main_context);
    }
}
OWN_FRAME static void resume() {
    swapcontext(&main_context, &coroutine_context);
    sink = sink + 1;
}
OWN_FRAME static void resumes(int rounds) {
    static char stack[65536];
    getcontext(&coroutine_context);
    coroutine_context.uc_stack = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
    makecontext(&coroutine_context, coroutine, 0);
    for (left = rounds; left != 0; --left) resume();
}

int main(int count, char** words) {
    const int rounds = count > 1 ? std::atoi(words[1]) : 100;
    exceptions(rounds);
    resumes(rounds);
    std::puts("done");
}
