// Programs of many processes, for tests that follow forks. The arguments say what a program does:
//
//   family shares A B       two children at once: one does A and the other B units of work
//   family spawn N          N children by posix_spawn, one after the other; each works
//   family brief N          N children that exit at once; their statuses are checked
//   family killed           a child that is killed by SIGTERM
//   family stopped          a child that is stopped and continued, as a shell's job is
//   family daemon           a grandchild by a double fork, which outlives the program until SIGTERM
//   family untraced         a child that looks for a tracer of its own
//   family jit A            two children run the same generated code at one address, A units
//                           each, and write a perf map of it
//   family work A           A units of work
//   family until END BEGUN  makes the file BEGUN, and works until there is a file END
//   family succeeds N       N children, in each of which a second thread executes a program while
//   the
//                           first one sleeps
//   family alone A          a child does A units of work and meanwhile looks for children
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "parent.h"
#include "work.h"

extern char** environ;

static int wait_for(pid_t pid, int options) {
    int status = 0;
    pid_t found;
    do found = waitpid(pid, &status, options);
    while (found < 0 && errno == EINTR);
    require(found == pid, "waitpid");
    return status;
}

static pid_t wait_for_any(int* status) {
    pid_t found;
    do found = waitpid(-1, status, 0);
    while (found < 0 && errno == EINTR);
    return found;
}

// Functions that a profile must tell apart.
__attribute__((noinline)) uint64_t family_work_a(uint64_t units) {
    return work(1, units * 10000000);
}
__attribute__((noinline)) uint64_t family_work_b(uint64_t units) {
    return work(2, units * 10000000);
}
static volatile uint64_t sink;

static int shares(uint64_t a, uint64_t b) {
    const pid_t first = fork();
    if (first == 0) {
        sink = family_work_a(a);
        _exit(11);
    }
    const pid_t second = fork();
    if (second == 0) {
        sink = family_work_b(b);
        _exit(12);
    }
    // The children are waited for in the order in which they end: neither stays a zombie while the
    // other one works.
    for (int left = 2; left != 0; --left) {
        int status = 0;
        const pid_t ended = wait_for_any(&status);
        require(ended == first || ended == second, "a child that is none");
        require(WIFEXITED(status) && WEXITSTATUS(status) == (ended == first ? 11 : 12),
                "a child's status");
    }
    printf("family: shared\n");
    return 0;
}

static int spawn(char* self, int children) {
    char* arguments[] = {self, "work", "3", NULL};
    for (int i = 0; i < children; ++i) {
        pid_t pid;
        require(posix_spawn(&pid, self, NULL, NULL, arguments, environ) == 0, "posix_spawn");
        const int status = wait_for(pid, 0);
        require(WIFEXITED(status) && WEXITSTATUS(status) == 3, "the status of what was spawned");
    }
    printf("family: spawned\n");
    return 0;
}

static int brief(int children) {
    count_child_signals();
    for (int i = 0; i < children; ++i) {
        const int signals_before = child_signals;
        const pid_t pid = fork();
        require(pid >= 0, "fork");
        if (pid == 0) _exit(i % 100);
        int status = 0;
        struct rusage usage;
        pid_t found;
        do found = wait4(pid, &status, 0, &usage);
        while (found < 0 && errno == EINTR);
        require(found == pid && WIFEXITED(status) && WEXITSTATUS(status) == i % 100, "a status");
        require(usage.ru_utime.tv_sec == 0 && usage.ru_stime.tv_sec == 0, "the usage");
        require(child_signals == signals_before + 1, "not one SIGCHLD for one child");
    }
    require(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD, "a child too many");
    printf("family: %d children\n", children);
    return 0;
}

static int killed(void) {
    const pid_t pid = fork();
    if (pid == 0)
        for (;;) pause();
    require(kill(pid, SIGTERM) == 0, "kill");
    const int status = wait_for(pid, 0);
    require(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "the signal that killed it");
    printf("family: killed\n");
    return 0;
}

static volatile sig_atomic_t told_to_end;

static void on_sigterm(int signal) {
    (void)signal;
    told_to_end = 1;
}

static int stopped(void) {
    const pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        signal(SIGTERM, on_sigterm);
        raise(SIGSTOP);
        do sink = family_work_a(10);
        while (!told_to_end);
        _exit(6);
    }
    for (int i = 0; i < 3; ++i) {
        int status = wait_for(pid, WUNTRACED);
        require(WIFSTOPPED(status), "a stop");
        require(WSTOPSIG(status) == (i == 0 ? SIGSTOP : SIGTSTP), "the signal that stopped it");
        require(waitpid(pid, &status, WUNTRACED | WNOHANG) == 0, "it does not stay stopped");
        require(kill(-pid, SIGCONT) == 0, "kill");
        status = wait_for(pid, WCONTINUED);
        require(WIFCONTINUED(status), "that it goes on");
        require(kill(-pid, i < 2 ? SIGTSTP : SIGTERM) == 0, "kill");
    }
    const int status = wait_for(pid, 0);
    require(WIFEXITED(status) && WEXITSTATUS(status) == 6, "its status");
    printf("family: stopped\n");
    return 0;
}

static void make_file(const char* path, const char* text) {
    FILE* file = fopen(path, "w");
    require(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, path);
}

// Starts a daemon, which makes a file when it ends.
static int daemonize(void) {
    const pid_t pid = fork();
    if (pid == 0) {
        signal(SIGTERM, on_sigterm);
        setsid();
        if (fork() != 0) _exit(0);
        const struct timespec nap = {.tv_nsec = 10000000};
        while (!told_to_end) {
            sink = work(1, 1000000);
            nanosleep(&nap, NULL);
        }
        make_file("daemon", "unharmed\n");
        _exit(0);
    }
    require(wait_for(pid, 0) == 0, "the status of the intermediate");
    sink = work(1, 200000000);
    printf("family: daemon\n");
    return 5;
}

static int tracer_pid(void) {
    char line[256];
    int tracer = -1;
    FILE* file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file) != NULL) sscanf(line, "TracerPid: %d", &tracer);
    fclose(file);
    return tracer;
}

static int untraced(void) {
    const pid_t pid = fork();
    if (pid == 0) {
        const int tracer = tracer_pid();
        sink = family_work_a(30);
        _exit(tracer == 0 ? 0 : 1);
    }
    const int status = wait_for(pid, 0);
    printf("family: %s\n", status == 0 ? "untraced" : "traced");
    return 0;
}

// Runs generated code that counts down from a number, at one fixed address.
static void run_made_up_code(uint64_t units) {
    static const unsigned char code[] = {0x48, 0x89, 0xf9,  // mov rcx, rdi
                                         0x48, 0xff, 0xc9,  // dec rcx
                                         0x75, 0xfb,        // jnz to the dec
                                         0xc3};             // ret
    void* const place = (void*)0x200000000000;
    unsigned char* at = mmap(place, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    require(at == place, "mmap");
    memcpy(at, code, sizeof code);
    char name[64];
    snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
    FILE* map = fopen(name, "w");
    fprintf(map, "%lx %zx made_up_by_%d\n", (unsigned long)at, sizeof code, (int)getpid());
    fclose(map);
    ((void (*)(uint64_t))at)(units * 10000000);
}

static int jit(uint64_t units) {
    pid_t pids[2];
    for (int i = 0; i < 2; ++i) {
        pids[i] = fork();
        if (pids[i] != 0) continue;
        run_made_up_code(units);
        _exit(0);
    }
    for (int i = 0; i < 2; ++i) require(wait_for(pids[i], 0) == 0, "a status");
    printf("family: made up\n");
    return 0;
}

static int work_until(const char* end, const char* begun) {
    make_file(begun, "");
    while (access(end, F_OK) != 0) sink = work(1, 1000000);
    return 3;
}

static void* execute(void* unused) {
    (void)unused;
    execl("/bin/echo", "echo", "executed", (char*)NULL);
    _exit(2);
}

static int sleep_beside_execution(void) {
    static volatile int kept = 7;
    pthread_t thread;
    struct timespec rest = {100, 0};
    require(pthread_create(&thread, NULL, execute, NULL) == 0, "pthread_create");
    const int result = clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest);
    printf("family: slept with %d, kept %d\n", result, kept);
    return 1;
}

static int succeeds(int children) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < children; ++i) {
        const pid_t child = fork();
        if (child == 0) _exit(sleep_beside_execution());
        printf("family: status %d\n", wait_for(child, 0));
    }
    return 0;
}

static int alone(uint64_t units) {
    const pid_t pid = fork();
    if (pid == 0) {
        for (uint64_t i = 0; i < 100 * units; ++i) {
            siginfo_t info;
            sink = work(i, 100000);
            if (waitpid(-1, NULL, WNOHANG | __WALL) != -1 || errno != ECHILD) _exit(1);
            if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != -1) _exit(2);
        }
        struct rusage usage;
        getrusage(RUSAGE_CHILDREN, &usage);
        _exit(usage.ru_utime.tv_sec != 0);
    }
    require(wait_for(pid, 0) == 0, "a child that is not its own");
    printf("family: alone\n");
    return 0;
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "";
    const int first = argc > 2 ? atoi(argv[2]) : 0, second = argc > 3 ? atoi(argv[3]) : 0;
    if (strcmp(what, "shares") == 0) return shares((uint64_t)first, (uint64_t)second);
    if (strcmp(what, "spawn") == 0) return spawn(argv[0], first);
    if (strcmp(what, "brief") == 0) return brief(first);
    if (strcmp(what, "killed") == 0) return killed();
    if (strcmp(what, "stopped") == 0) return stopped();
    if (strcmp(what, "daemon") == 0) return daemonize();
    if (strcmp(what, "untraced") == 0) return untraced();
    if (strcmp(what, "succeeds") == 0) return succeeds(first);
    if (strcmp(what, "alone") == 0) return alone((uint64_t)first);
    if (strcmp(what, "jit") == 0) return jit((uint64_t)first);
    if (strcmp(what, "until") == 0 && argc > 3) return work_until(argv[2], argv[3]);
    if (strcmp(what, "work") == 0) return sink = family_work_a((uint64_t)first), 3;
    fprintf(stderr, "family: what?\n");
    return 2;
}
