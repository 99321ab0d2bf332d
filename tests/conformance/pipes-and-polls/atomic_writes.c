// Short writes of three processes to one pipe arrive unmixed.
#include "child.h"

enum { writers = 3, records = 100, length = 200 };

int main(void) {
    int ends[2];
    CALL(pipe(ends));
    pid_t pids[writers];
    for (int i = 0; i < writers; ++i) {
        pids[i] = CALL(fork());
        if (pids[i] == 0) {
            char text[length];
            memset(text, 'a' + i, sizeof text);
            for (int record = 0; record < records; ++record) {
                CHECK(write(ends[1], text, sizeof text) == sizeof text);
                spin(10000);
            }
            _exit(0);
        }
    }
    CALL(close(ends[1]));
    int counts[writers] = {0};
    for (;;) {
        char text[length];
        size_t have = 0;
        while (have < length) {
            const ssize_t got = CALL(read(ends[0], text + have, length - have));
            if (got == 0) break;
            have += (size_t)got;
        }
        if (have == 0) break;
        CHECK(have == length);
        for (int i = 1; i < length; ++i) CHECK(text[i] == text[0]);
        ++counts[text[0] - 'a'];
        spin(10000);
    }
    for (int i = 0; i < writers; ++i) expect_exit(pids[i], 0);
    printf("%d %d %d\n", counts[0], counts[1], counts[2]);
}
