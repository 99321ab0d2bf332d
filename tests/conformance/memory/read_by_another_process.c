// process_vm_readv and process_vm_writev reach a child's memory, up to what is not mapped.
// leave-out: family: what a followed process has written is in its emulator
#include <sys/mman.h>
#include <sys/uio.h>

#include "child.h"

int main(void) {
    char* area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    for (int round = 0; round < 25; ++round) {
        int ready[2], go[2];
        CALL(pipe(ready));
        CALL(pipe(go));
        strcpy(area, "the parent's");
        const pid_t child = CALL(fork());
        if (child == 0) {
            strcpy(area, "the child's");
            CALL(munmap(area + 4096, 4096));
            CHECK(write(ready[1], "x", 1) == 1);
            char byte;
            CHECK(read(go[0], &byte, 1) == 1);
            CHECK(strcmp(area, "the mother") == 0);
            _exit(0);
        }
        char byte, text[8192];
        CHECK(read(ready[0], &byte, 1) == 1);
        spin(60000);
        const struct iovec here = {text, 8192}, there = {area, 8192};
        const ssize_t got = process_vm_readv(child, &here, 1, &there, 1, 0);
        if (got == -1 && (errno == EPERM || errno == ENOSYS)) {
            kill(child, SIGKILL);
            skip("memory of children cannot be read");
        }
        CHECK(got == 4096 && strcmp(text, "the child's") == 0);
        const struct iovec from = {"the mother", 11}, to = {area, 11};
        CHECK(process_vm_writev(child, &from, 1, &to, 1, 0) == 11);
        CHECK(strcmp(area, "the parent's") == 0);
        CHECK(write(go[1], "x", 1) == 1);
        expect_exit(child, 0);
        for (int i = 0; i < 2; ++i) {
            close(ready[i]);
            close(go[i]);
        }
    }
    puts("ok");
}
