// Programs whose threads a tracer stops again and again: at signals, and at births of threads and
// processes. Each checks that nothing was lost and says "stops: KIND N unharmed".
//
// stops KIND N, where KIND is one of kinds[]
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

extern char** environ;

static volatile long handled;
static long rounds;

static void fail(const char* what) {
    fprintf(stderr, "stops: %s after %ld: %s\n", what, handled, strerror(errno));
    exit(1);
}

// Goes on behind the instruction, whose length is in RSI.
static void pass_fault(int signal, siginfo_t* info, void* context) {
    (void)signal, (void)info;
    greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    registers[REG_RIP] += registers[REG_RSI];
    ++handled;
}

static void handle(int signal, void (*by)(int, siginfo_t*, void*)) {
    struct sigaction action = {.sa_sigaction = by, .sa_flags = SA_SIGINFO};
    if (sigaction(signal, &action, NULL) != 0) fail("sigaction");
}

static void count(int signal, siginfo_t* info, void* context) {
    (void)signal, (void)info, (void)context;
    ++handled;
}

static void reads_of_nothing(void) {
    handle(SIGSEGV, pass_fault);
    for (long i = 0; i < rounds; ++i)
        __asm__ volatile(
            "lea 2f(%%rip), %%rsi; lea 1f(%%rip), %%rax; sub %%rax, %%rsi\n"
            "xor %%eax, %%eax\n1: mov (%%rax), %%eax\n2:" ::
                : "rax", "rsi", "memory");
}

static void divisions(void) {
    handle(SIGFPE, pass_fault);
    for (long i = 0; i < rounds; ++i)
        __asm__ volatile("mov $2, %%esi; xor %%ecx, %%ecx; mov $1, %%eax; cltd; idiv %%ecx" ::
                             : "rax", "rcx", "rdx", "rsi");
}

static void raised(void) {
    handle(SIGUSR1, count);
    for (long i = 0; i < rounds; ++i)
        if (raise(SIGUSR1) != 0) fail("raise");
}

// Computes until the timer of 100 us has signalled often enough.
static void timer(void) {
    handle(SIGALRM, count);
    const struct itimerval period = {{0, 100}, {0, 100}}, none = {{0, 0}, {0, 0}};
    if (setitimer(ITIMER_REAL, &period, NULL) != 0) fail("setitimer");
    while (handled < rounds) {
    }
    setitimer(ITIMER_REAL, &none, NULL);
    handled = rounds;
}

// Timers that signal every 20 us and live for a moment.
static void short_timers(void) {
    signal(SIGALRM, SIG_IGN);
    handle(SIGALRM, count);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    const struct itimerspec period = {{0, 20000}, {0, 20000}};
    for (long i = 0; i < rounds; ++i) {
        timer_t id;
        if (timer_create(CLOCK_REALTIME, &event, &id) != 0) fail("timer_create");
        if (timer_settime(id, 0, &period, NULL) != 0) fail("timer_settime");
        if (timer_delete(id) != 0) fail("timer_delete");
    }
    handled = rounds;
}

// Signals that are read are delivered to nobody.
static void read_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    const int fd = signalfd(-1, &set, SFD_CLOEXEC);
    struct signalfd_siginfo info;
    for (long i = 0; i < rounds; ++i) {
        if (raise(SIGUSR2) != 0 || read(fd, &info, sizeof info) != sizeof info) fail("signalfd");
        ++handled;
    }
}

static void* nothing(void* value) {
    return value;
}

static void threads(void) {
    for (long i = 0; i < rounds; ++i) {
        pthread_t thread;
        void* value = NULL;
        if (pthread_create(&thread, NULL, nothing, &rounds) != 0) fail("pthread_create");
        if (pthread_join(thread, &value) != 0 || value != &rounds) fail("pthread_join");
        ++handled;
    }
}

static void take_end_of(pid_t pid) {
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7) fail("waitpid");
    ++handled;
}

static void forks(void) {
    for (long i = 0; i < rounds; ++i) {
        const pid_t pid = fork();
        if (pid == 0) _exit(7);
        take_end_of(pid);
    }
}

static void spawns(void) {
    char* const command[] = {"stops", "seven", "0", NULL};
    for (long i = 0; i < rounds; ++i) {
        pid_t pid = 0;
        if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, command, environ) != 0) fail("spawn");
        take_end_of(pid);
    }
}

// A child stops itself again and again, and is continued at once.
static void halts(void) {
    const pid_t child = fork();
    if (child == 0) {
        const pid_t own = getpid();
        volatile long sum = 0;
        for (long i = 0; i < rounds; ++i) {
            sum += i;
            if (syscall(SYS_kill, own, SIGSTOP) != 0) fail("kill");
        }
        _exit(sum == rounds * (rounds - 1) / 2 ? 7 : 8);
    }
    int status = 0;
    while (waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status)) {
        if (kill(child, SIGCONT) != 0) fail("kill");
        ++handled;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) fail("waitpid");
}

static void seven(void) {
    _exit(7);
}

// Executes itself until it has counted down.
static void execs(void) {
    const char* count = getenv("STOPS_EXECS");
    const long done = count ? atol(count) : 0;
    handled = rounds;
    if (done == rounds) return;
    char text[32], of[32];
    snprintf(text, sizeof text, "%ld", done + 1);
    snprintf(of, sizeof of, "%ld", rounds);
    setenv("STOPS_EXECS", text, 1);
    execl("/proc/self/exe", "stops", "execs", of, (char*)NULL);
    fail("execl");
}

static const struct {
    const char* name;
    void (*run)(void);
} kinds[] = {{"reads", reads_of_nothing},
             {"divisions", divisions},
             {"raised", raised},
             {"timer", timer},
             {"short", short_timers},
             {"signalfd", read_signals},
             {"threads", threads},
             {"forks", forks},
             {"spawns", spawns},
             {"execs", execs},
             {"halts", halts},
             {"seven", seven}};

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    rounds = atol(argv[2]);
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
        if (strcmp(argv[1], kinds[i].name) != 0) continue;
        kinds[i].run();
        if (handled != rounds) fail("lost");
        printf("stops: %s %ld unharmed\n", argv[1], rounds);
        return 0;
    }
    return 2;
}
