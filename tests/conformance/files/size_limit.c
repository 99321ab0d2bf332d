// A write beyond RLIMIT_FSIZE sends SIGXFSZ and fails with EFBIG; one up to it is short.
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "check.h"

static volatile sig_atomic_t signals;

static void count(int number) {
    (void)number;
    ++signals;
}

int main(void) {
    CHECK(signal(SIGXFSZ, count) != SIG_ERR);
    struct rlimit limit;
    CALL(getrlimit(RLIMIT_FSIZE, &limit));
    const rlim_t before = limit.rlim_cur;
    const int file = CALL(memfd_create("limited", 0));
    char text[1000] = {0};
    for (int round = 0; round < 100; ++round) {
        limit.rlim_cur = 1500;
        CALL(setrlimit(RLIMIT_FSIZE, &limit));
        CHECK(pwrite(file, text, 1000, 0) == 1000);
        CHECK(pwrite(file, text, 1000, 1000) == 500);
        CHECK(signals == round);
        CHECK(pwrite(file, text, 1000, 1500) == -1 && errno == EFBIG);
        CHECK(signals == round + 1);
        limit.rlim_cur = before;
        CALL(setrlimit(RLIMIT_FSIZE, &limit));
        spin(60000);
    }
    puts("ok");
}
