// A program can be executed as soon as the only descriptor that wrote it is closed.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "child.h"

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 1) return 45;
    char name[256];
    snprintf(name, sizeof name, "%s/writtenXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CALL(close(CALL(mkstemp(name))));
    CALL(chmod(name, 0700));
    const int self = CALL(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    struct stat about;
    CALL(fstat(self, &about));
    char* const list[] = {name, "again", NULL};
    for (int round = 0; round < 40; ++round) {
        const int file = CALL(open(name, O_WRONLY | O_TRUNC | O_CLOEXEC));
        for (off_t done = 0; done < about.st_size;)
            CHECK(sendfile(file, self, &done, (size_t)(about.st_size - done)) > 0);
        CHECK(execv(name, list) == -1 && (errno == ETXTBSY || errno == EACCES));
        spin(100000);
        CALL(close(file));
        const pid_t child = CALL(fork());
        if (child == 0) {
            execv(name, list);
            _exit(errno == ETXTBSY ? 46 : errno == EACCES ? 77 : 47);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        if (WEXITSTATUS(status) != 45) unlink(name);
        if (WEXITSTATUS(status) == 77) skip("a temporary folder without programs");
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 45);
    }
    CALL(unlink(name));
    puts("ok");
}
