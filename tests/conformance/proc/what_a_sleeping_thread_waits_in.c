// For a thread that sleeps in a system call, /proc shows its number and arguments.
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "check.h"

static int ends[2];
static volatile int id;

static void* body(void* argument) {
    (void)argument;
    id = (int)syscall(SYS_gettid);
    char byte;
    CHECK(read(ends[0], &byte, 1) == 1);
    return NULL;
}

int main(void) {
    CALL(pipe(ends));
    for (int round = 0; round < 30; ++round) {
        id = 0;
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, body, NULL));
        while (id == 0) sched_yield();
        char name[64], text[256];
        snprintf(name, sizeof name, "/proc/self/task/%d/syscall", id);
        unsigned long number = 1, first = 99;
        for (int look = 0;
             look < 200000 && !(number == SYS_read && first == (unsigned long)ends[0]); ++look) {
            const int file = open(name, O_RDONLY);
            if (file < 0) skip("no /proc/PID/syscall");
            const ssize_t length = read(file, text, sizeof text - 1);
            if (length < 0) skip("no /proc/PID/syscall");
            text[length] = 0;
            CALL(close(file));
            if (sscanf(text, "%lu %lx", &number, &first) != 2) number = 1;
            spin(2000);
        }
        CHECK(number == SYS_read && first == (unsigned long)ends[0]);
        spin(50000);
        CHECK(write(ends[1], "x", 1) == 1);
        CHECK(!pthread_join(thread, NULL));
    }
    puts("ok");
}
