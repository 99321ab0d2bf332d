// process_vm_readv of a process's own memory reads its content, gathered and scattered.
#include <sys/uio.h>

#include "check.h"

int main(void) {
    char source[4][64];
    char target[256];
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 4; ++i) memset(source[i], 'a' + (round + i) % 26, 64);
        const struct iovec remote[4] = {
            {source[3], 10}, {source[0], 20}, {source[2], 30}, {source[1], 40}};
        const struct iovec local[2] = {{target, 15}, {target + 100, 85}};
        const ssize_t got = process_vm_readv(getpid(), local, 2, remote, 4, 0);
        if (got == -1 && (errno == ENOSYS || errno == EPERM)) skip("no process_vm_readv");
        CHECK(got == 100);
        CHECK(target[0] == source[3][0] && target[14] == source[0][0]);
        CHECK(target[100] == source[0][0] && target[184] == source[1][0]);
        spin(80000);
    }
    puts("ok");
}
