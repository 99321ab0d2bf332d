// All descriptors that RLIMIT_NOFILE allows can be opened, and not one more.
#include <fcntl.h>
#include <sys/resource.h>

#include "check.h"

int main(void) {
    for (int descriptor = 3; descriptor < 256; ++descriptor) close(descriptor);
    const int first = CALL(open("/dev/null", O_RDONLY));
    CALL(close(first));
    struct rlimit limit;
    CALL(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = (rlim_t)first + 12;
    CALL(setrlimit(RLIMIT_NOFILE, &limit));
    for (int round = 0; round < 60; ++round) {
        for (int i = 0; i < 12; ++i) {
            CHECK(CALL(open("/dev/null", O_RDONLY)) == first + i);
            spin(4000);
        }
        CHECK(open("/dev/null", O_RDONLY) == -1 && errno == EMFILE);
        CHECK(dup(first) == -1 && errno == EMFILE);
        spin(20000);
        for (int i = 0; i < 12; ++i) CALL(close(first + i));
    }
    puts("ok");
}
