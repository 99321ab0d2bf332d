// posix_spawn gives the child the files, group, mask and handlers asked for.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include "child.h"

static void handle(int number) {
    (void)number;
}

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 1) {
        CHECK(fcntl(7, F_GETFD) == 0);
        CHECK(fcntl(0, F_GETFD) == -1);
        CHECK(getpgrp() == getpid());
        sigset_t mask;
        CALL(sigprocmask(SIG_SETMASK, NULL, &mask));
        CHECK(sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGUSR1));
        struct sigaction action;
        CALL(sigaction(SIGUSR1, NULL, &action));
        CHECK(action.sa_handler == SIG_DFL);
        spin(30000);
        return 20;
    }
    signal(SIGUSR1, handle);
    posix_spawn_file_actions_t files;
    CHECK(!posix_spawn_file_actions_init(&files));
    CHECK(!posix_spawn_file_actions_addopen(&files, 7, "/dev/null", O_RDONLY, 0));
    CHECK(!posix_spawn_file_actions_addclose(&files, 0));
    posix_spawnattr_t attributes;
    CHECK(!posix_spawnattr_init(&attributes));
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    CHECK(!posix_spawnattr_setsigmask(&attributes, &mask));
    CHECK(!posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP));
    char* const list[] = {"self", "again", NULL};
    for (int round = 0; round < 25; ++round) {
        pid_t child;
        spin(80000);
        CHECK(!posix_spawn(&child, "/proc/self/exe", &files, &attributes, list, environ));
        expect_exit(child, 20);
        CHECK(posix_spawn(&child, "/nonexistent", &files, &attributes, list, environ) == ENOENT);
        expect_no_child();
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    puts("ok");
}
