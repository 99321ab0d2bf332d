// /proc shows the true state of a child: stopped, then a zombie with its parent's id.
#include "child.h"

static char state_of(pid_t process, pid_t* parent) {
    char name[64], text[512];
    snprintf(name, sizeof name, "/proc/%d/stat", process);
    FILE* file = fopen(name, "r");
    CHECK(file && fgets(text, sizeof text, file));
    fclose(file);
    char state;
    CHECK(sscanf(strrchr(text, ')') + 2, "%c %d", &state, parent) == 2);
    return state;
}

int main(void) {
    for (int round = 0; round < 30; ++round) {
        pid_t parent;
        int gate[2], status;
        CALL(pipe(gate));
        const pid_t child = CALL(fork());
        if (child == 0) {
            char byte;
            CALL(raise(SIGSTOP));
            CHECK(read(gate[0], &byte, 1) == 1);
            _exit(0);
        }
        CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
        spin(40000);
        const char stopped = state_of(child, &parent);
        CHECK((stopped == 'T' || stopped == 't') && parent == getpid());
        CALL(kill(child, SIGCONT));
        CHECK(write(gate[1], "x", 1) == 1);
        siginfo_t info;
        CALL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
        CHECK(state_of(child, &parent) == 'Z' && parent == getpid());
        spin(40000);
        expect_exit(child, 0);
        CALL(close(gate[0]));
        CALL(close(gate[1]));
    }
    puts("ok");
}
