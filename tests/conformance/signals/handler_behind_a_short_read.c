// A read that a signal cuts short has stored the bytes that it returns, also with a handler.
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>

#include "../check.h"

enum { size_bytes = 8 << 20, page_bytes = 4096, wanted = 3, max_reads = 200 };

static unsigned char buffer[size_bytes];
static volatile sig_atomic_t handled;

static void on_alarm(int signal) {
    (void)signal;
    ++handled;
}

static int has_zeros_alone(const unsigned char* page) {
    for (int i = 0; i < page_bytes; ++i)
        if (page[i]) return 0;
    return 1;
}

int main(void) {
    const int fd = CALL(open("/dev/urandom", O_RDONLY));
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    CALL(sigaction(SIGALRM, &action, NULL));
    const struct itimerval every = {{0, 2000}, {0, 2000}};
    int cut_short = 0;
    for (int i = 0; i < max_reads && cut_short < wanted; ++i) {
        memset(buffer, 0, size_bytes);
        CALL(setitimer(ITIMER_REAL, &every, NULL));
        const ssize_t got = CALL(read(fd, buffer, size_bytes));
        const struct itimerval off = {{0, 0}, {0, 0}};
        CALL(setitimer(ITIMER_REAL, &off, NULL));
        cut_short += got < size_bytes;
        for (ssize_t at = 0; at + page_bytes <= got; at += page_bytes)
            CHECK(!has_zeros_alone(buffer + at));
    }
    CHECK(handled > 0 || cut_short == 0);
    return 0;
}
