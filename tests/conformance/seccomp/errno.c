// A filter answers calls with errors that it chooses by number and argument.
#include "filter.h"

int main(void) {
    INSTALL(0, ON_X86_64, ANSWER_TO(SYS_getppid, SECCOMP_RET_ERRNO | 99),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_lseek, 0, 4),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 4242, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    int ends[2];
    CALL(pipe(ends));
    for (int round = 0; round < 100; ++round) {
        spin(80000);
        CHECK(syscall(SYS_getppid) == -1 && errno == 99);
        CHECK(lseek(ends[0], 4242, SEEK_SET) == -1 && errno == 77);
        CHECK(lseek(ends[0], 4243, SEEK_SET) == -1 && errno == ESPIPE);
        CHECK(getpid() > 0);
    }
    puts("ok");
}
