// Asks its profiler to count parts of it, or has functions that can be counted. The numbers of
// turns of each part are powers of ten times a digit, so that a sum tells which parts it has.
//
// regions own|callgrind|zero|toggle|wrong|call|threads|child|exec|functions
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../include/shadowprof.h"

void regions_loop(uint64_t turns);

// callgrind.h and valgrind.h
enum { running = 0x1001, client_call0 = 0x1101, callgrind = 0x43540000 };
enum { dump, zero, toggle, dump_at, start, stop };

static void ask_callgrind(unsigned long what, const char* name) {
    shadowprof_request(0, callgrind + what, name);
}

static void own(void) {
    printf("%lu %lu\n", SHADOWPROF_IS_COUNTED(), shadowprof_request(7, running, 0));
    SHADOWPROF_START();
    regions_loop(20);
    SHADOWPROF_STOP();
    regions_loop(1);
    SHADOWPROF_DUMP("first of two");
    SHADOWPROF_START();
    regions_loop(300);
    SHADOWPROF_DUMP("second");
    regions_loop(4000);
    SHADOWPROF_STOP();
    regions_loop(1);
}

static void by_callgrind(void) {
    ask_callgrind(start, 0);
    regions_loop(20);
    ask_callgrind(dump_at, "twenty");
    regions_loop(300);
    ask_callgrind(dump, 0);
    ask_callgrind(stop, 0);
    regions_loop(1);
}

static void zeroes(void) {
    regions_loop(1);
    ask_callgrind(dump_at, "before");
    regions_loop(20);
    ask_callgrind(zero, 0);
    regions_loop(300);
    ask_callgrind(dump_at, "behind");
    regions_loop(4000);
}

static void toggles(void) {
    regions_loop(1);
    ask_callgrind(toggle, 0);
    regions_loop(20);
    ask_callgrind(toggle, 0);
    regions_loop(300);
}

static void asks_wrongly(void) {
    SHADOWPROF_STOP();
    SHADOWPROF_STOP();
    regions_loop(1);
}

static void asks_for_call(void) {
    printf("%lu\n", shadowprof_request(7, client_call0, 0));
    printf("%lu\n", shadowprof_request(8, 0x4d430000, 0));  // memcheck's
}

static void* in_thread(void* turns) {
    regions_loop((uintptr_t)turns);
    return 0;
}

static void with_threads(void) {
    pthread_t thread;
    SHADOWPROF_START();
    pthread_create(&thread, 0, in_thread, (void*)20);
    pthread_join(thread, 0);
    ask_callgrind(toggle, 0);
    regions_loop(1);
    pthread_create(&thread, 0, in_thread, (void*)300);
    pthread_join(thread, 0);
    SHADOWPROF_STOP();
    pthread_create(&thread, 0, in_thread, (void*)1);
    pthread_join(thread, 0);
}

static void with_child(void) {
    SHADOWPROF_START();
    if (fork() == 0) {
        regions_loop(1);
        SHADOWPROF_START();
        regions_loop(20);
        _exit(0);
    }
    wait(0);
    regions_loop(300);
}

static jmp_buf landing;

__attribute__((noinline)) void counted_and_recursive(int depth) {
    regions_loop(10);
    if (depth > 1) counted_and_recursive(depth - 1);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void counted_and_left(void) {
    regions_loop(300);
    longjmp(landing, 1);
}

static void* counted_thread(void* unused) {
    regions_loop(1);
    counted_and_recursive(2);
    pthread_exit(unused);
}

static void functions(void) {
    regions_loop(1);
    counted_and_recursive(2);
    regions_loop(1);
    if (setjmp(landing) == 0) counted_and_left();
    regions_loop(1);
    for (int i = 0; i < 2; ++i) {
        pthread_t thread;
        pthread_create(&thread, 0, counted_thread, 0);
        pthread_join(thread, 0);
    }
    regions_loop(1);
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "own") == 0)
        own();
    else if (strcmp(mode, "callgrind") == 0)
        by_callgrind();
    else if (strcmp(mode, "zero") == 0)
        zeroes();
    else if (strcmp(mode, "toggle") == 0)
        toggles();
    else if (strcmp(mode, "wrong") == 0)
        asks_wrongly();
    else if (strcmp(mode, "call") == 0)
        asks_for_call();
    else if (strcmp(mode, "threads") == 0)
        with_threads();
    else if (strcmp(mode, "child") == 0)
        with_child();
    else if (strcmp(mode, "functions") == 0)
        functions();
    else if (strcmp(mode, "exec") == 0) {
        SHADOWPROF_START();
        regions_loop(20);
        execl(argv[0], argv[0], "toggle", (char*)0);
    } else {
        return 2;
    }
    return 0;
}
