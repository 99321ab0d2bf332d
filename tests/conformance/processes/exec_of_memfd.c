// A program that exists only in a memfd is executed by execveat with AT_EMPTY_PATH.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "child.h"

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 1) {
        spin(200000);
        char link[64] = {0};
        CHECK(readlink("/proc/self/exe", link, sizeof link - 1) > 0);
        CHECK(strstr(link, "memfd:program"));
        return 15;
    }
    const int self = CALL(open("/proc/self/exe", O_RDONLY));
    struct stat about;
    CALL(fstat(self, &about));
    const int copy = CALL(memfd_create("program", MFD_CLOEXEC));
    for (off_t done = 0; done < about.st_size;)
        CHECK(sendfile(copy, self, &done, (size_t)(about.st_size - done)) > 0);
    for (int round = 0; round < 20; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            char* const list[] = {"program", "again", NULL};
            spin(20000);
            syscall(SYS_execveat, copy, "", list, environ, AT_EMPTY_PATH);
            if (errno == EACCES || errno == EPERM) _exit(77);
            CHECK(!"execveat failed");
        }
        spin(60000);
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip("memfds cannot be executed");
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 15);
    }
    puts("ok");
}
