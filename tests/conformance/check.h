// What conformance programs use to check themselves.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The exit status of a program that the host cannot run, as in automake's and meson's tests.
enum { status_skipped = 77 };

// Ends the program if CONDITION is false. It writes with one write(2), so that signal handlers and
// children can use it.
#define CHECK(condition)                                                \
    do {                                                                \
        if (!(condition)) check_failed(__FILE__, __LINE__, #condition); \
    } while (0)

// Like CHECK for calls that return -1 or less and set errno on failure. Its value is that of the
// call.
#define CALL(call)                                                          \
    ({                                                                      \
        __auto_type call_result = (call);                                   \
        if ((long)call_result < 0) check_failed(__FILE__, __LINE__, #call); \
        call_result;                                                        \
    })

static inline void check_failed(const char* file, int line, const char* what) {
    int error = errno;
    char text[512];
    int length = snprintf(text, sizeof text, "%s:%d: failed: %s (errno %d: %s)\n", file, line, what,
                          error, strerrordesc_np(error));
    if (write(2, text, (size_t)length) < 0) _exit(3);
    _exit(2);
}

// Ends the program with the reason why the host cannot run it.
static inline void skip(const char* reason) {
    printf("skipped: %s\n", reason);
    fflush(stdout);
    _exit(status_skipped);
}

// Keeps the processor busy for about 3 * ROUNDS instructions, in which samples can begin and stops
// can fall. The result depends on every round.
static inline uint64_t spin(uint64_t rounds) {
    uint64_t value = rounds;
    for (uint64_t round = 0; round < rounds; ++round) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}
