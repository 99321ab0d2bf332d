// exec passes arguments and environment unchanged, also empty and long ones.
#include "child.h"

int main(int count, char** arguments) {
    if (count > 1) {
        spin(30000);
        CHECK(count == 4);
        CHECK(arguments[1][0] == 0);
        CHECK(strlen(arguments[2]) == 100000);
        CHECK(strspn(arguments[2], "v") == 100000);
        CHECK(strcmp(arguments[3], "\xff\n") == 0);
        CHECK(environ[0] && strcmp(environ[0], "ONE=") == 0);
        CHECK(environ[1] && strcmp(environ[1], "no equals sign") == 0);
        CHECK(environ[2] == NULL);
        return 19;
    }
    static char longest[100001];
    memset(longest, 'v', sizeof longest - 1);
    char* const list[] = {"", "", longest, "\xff\n", NULL};
    char* const environment[] = {"ONE=", "no equals sign", NULL};
    for (int round = 0; round < 20; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(20000);
            execve("/proc/self/exe", list, environment);
            CHECK(!"exec failed");
        }
        spin(60000);
        expect_exit(child, 19);
    }
    puts("ok");
}
