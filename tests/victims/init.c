// The first process of a PID namespace, which the kernel protects from most signals, comes to an
// end. Says by which signal or with which status. Exit status 77: no such namespace here.
//
// init KIND [NESTED]
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char* what, int status) {
    if (WIFSIGNALED(status))
        printf("%s: signal %d\n", what, WTERMSIG(status));
    else
        printf("%s: status %d\n", what, WEXITSTATUS(status));
    fflush(stdout);
}

static void read_nothing(void) {
    __asm__ volatile("mov $8, %%eax; movl $1, (%%rax)" ::: "rax", "memory");
}

static void fault_in_child(void) {
    const pid_t child = fork();
    if (child == 0) read_nothing();
    int status = 0;
    waitpid(child, &status, 0);
    show("child", status);
}

// Neither ends it: nobody inside may kill it, and it has no handlers.
static void survive_signals(void) {
    raise(SIGTERM);
    raise(SIGUSR1);
    if (fork() == 0) {
        kill(getppid(), SIGTERM);
        kill(getppid(), SIGSEGV);
        _exit(0);
    }
    wait(NULL);
}

static volatile int handled;

static void handle(int signal) {
    handled = signal;
    _exit(40 + signal);
}

static void handle_fault(void) {
    signal(SIGSEGV, handle);
    read_nothing();
}

static void run(const char* kind) {
    if (strcmp(kind, "fault") == 0) read_nothing();
    if (strcmp(kind, "division") == 0)
        __asm__ volatile("xor %%ecx, %%ecx; mov $1, %%eax; cltd; idiv %%ecx" ::
                             : "rax", "rcx", "rdx");
    if (strcmp(kind, "breakpoint") == 0) __asm__ volatile("int3");
    if (strcmp(kind, "abort") == 0) abort();
    if (strcmp(kind, "child") == 0) fault_in_child();
    if (strcmp(kind, "survives") == 0) survive_signals();
    if (strcmp(kind, "handler") == 0) handle_fault();
    _exit(3);
}

// Returns the status of an init that executes `kind`, in one more namespace for each level.
static int status_of_init(const char* kind, int levels) {
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) exit(77);
    const pid_t pid = fork();
    if (pid < 0) exit(77);
    if (pid == 0) {
        if (levels > 1) {
            const int status = status_of_init(kind, levels - 1);
            show("inner", status);
            _exit(4);
        }
        run(kind);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    show("init", status_of_init(argv[1], argc > 2 ? 2 : 1));
    return 0;
}
