// flock waits for the lock's holder, through stops and handlers with SA_RESTART.
#include <sys/file.h>

#include "waiting.h"

static int file;
// The holder of the lock lets go, takes it again, and reports that it has it.
static int release[2], again[2], held[2];

static void change(int file_to_change, short type) {
    CALL(flock(file_to_change, type == F_WRLCK ? LOCK_EX : LOCK_UN));
}

static void take_byte(int end) {
    char byte;
    ssize_t count;
    while ((count = read(end, &byte, 1)) < 0 && errno == EINTR) {
    }
    CHECK(count == 1);
}

static void give_byte(int end) {
    CHECK(write(end, "x", 1) == 1);
}

static void hold(const char* path) {
    const int own = CALL(open(path, O_RDWR));
    for (;;) {
        change(own, F_WRLCK);
        give_byte(held[1]);
        char byte;
        CHECK(read(release[0], &byte, 1) == 1);
        if (byte == 'e') _exit(0);
        change(own, F_UNLCK);
        take_byte(again[0]);
    }
}

static void wake(void) {
    give_byte(release[1]);
}

static long enter(void) {
    const int result = flock(file, LOCK_EX);
    if (result < 0) return -1;
    change(file, F_UNLCK);
    give_byte(again[1]);
    take_byte(held[0]);
    return 0;
}

int main(void) {
    char path[64];
    file = CALL(memfd_create("locked", 0));
    snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), file);
    CALL(pipe(release));
    CALL(pipe(again));
    CALL(pipe(held));
    const pid_t holder = CALL(fork());
    if (holder == 0) hold(path);
    take_byte(held[0]);
    check_waiting(&(struct waiting_call){enter, wake, .done = 0, .restarts = true});
    CHECK(write(release[1], "e", 1) == 1);
    reap(holder);
}
