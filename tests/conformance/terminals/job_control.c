// A shell stops a job by control-Z, learns of it, and continues it in the foreground until its end.
#include "pty.h"

static void job(struct terminal terminal, int ready) {
    CALL(setpgid(0, 0));
    CALL(tcsetpgrp(terminal.slave, getpid()));
    CHECK(signal(SIGTSTP, SIG_DFL) != SIG_ERR && signal(SIGQUIT, SIG_DFL) != SIG_ERR);
    CHECK(write(ready, "x", 1) == 1);
    spin_for_ever();
}

static void shell(struct terminal terminal, int ready) {
    CHECK(signal(SIGTTOU, SIG_IGN) != SIG_ERR);
    lead_session(terminal);
    const pid_t child = CALL(fork());
    if (child == 0) job(terminal, ready);
    int status;
    CHECK(waitpid(child, &status, WUNTRACED) == child);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
    CALL(tcsetpgrp(terminal.slave, getpgrp()));
    spin(40000);
    CALL(tcsetpgrp(terminal.slave, child));
    CALL(killpg(child, SIGCONT));
    CHECK(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status));
    CHECK(write(ready, "x", 1) == 1);
    CHECK(waitpid(child, &status, WUNTRACED) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGQUIT);
    _exit(82);
}

int main(void) {
    for (int round = 0; round < 20; ++round) {
        const struct terminal terminal = open_terminal();
        int ready[2];
        CALL(pipe(ready));
        const pid_t leader = CALL(fork());
        if (leader == 0) shell(terminal, ready[1]);
        char byte;
        CHECK(read(ready[0], &byte, 1) == 1);
        spin(50000);
        CHECK(write(terminal.master, "\032", 1) == 1);
        CHECK(read(ready[0], &byte, 1) == 1);
        spin(50000);
        CHECK(write(terminal.master, "\034", 1) == 1);
        expect_exit(leader, 82);
        close_terminal(terminal);
        CALL(close(ready[0]));
        CALL(close(ready[1]));
    }
    puts("ok");
}
