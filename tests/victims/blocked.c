// Makes one blocking call and says how it ended. Prints "ready" before the call, and afterwards
// "whole" or what was wrong: cut short, an error, a wrong result. Then waits for the end of its
// standard input. argv: the call, and a time-out in milliseconds for calls that have one. The other
// calls wait for a byte on standard input, or for a connection to the socket "blocked.socket" in
// the working directory.
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long milliseconds;

static struct timespec time_out(void) {
    return (struct timespec){.tv_sec = milliseconds / 1000,
                             .tv_nsec = milliseconds % 1000 * 1000000};
}

// Each function returns 1 if the call ended as it does without a profiler.

static int on_nanosleep(void) {
    const struct timespec time = time_out();
    return nanosleep(&time, NULL) == 0;
}

static int on_poll(void) {
    return poll(NULL, 0, (int)milliseconds) == 0;
}

static int on_futex(void) {
    static uint32_t word = 1;
    const struct timespec time = time_out();
    return syscall(SYS_futex, &word, FUTEX_WAIT, 1, &time, NULL, 0) == -1 && errno == ETIMEDOUT;
}

static int on_epoll_time_out(void) {
    struct epoll_event event;
    return epoll_wait(epoll_create1(EPOLL_CLOEXEC), &event, 1, (int)milliseconds) == 0;
}

static int on_sigtimedwait(void) {
    const struct timespec time = time_out();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return sigtimedwait(&set, NULL, &time) == -1 && errno == EAGAIN;
}

static int on_read(void) {
    char byte = 0;
    return read(STDIN_FILENO, &byte, 1) == 1 && byte == 'x';
}

static int on_epoll(void) {
    struct epoll_event event = {.events = EPOLLIN};
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event);
    return epoll_wait(epoll, &event, 1, -1) == 1;
}

static int on_accept(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "blocked.socket"};
    const int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(socket_fd, (struct sockaddr*)&address, sizeof address) != 0) return 0;
    if (listen(socket_fd, 1) != 0) return 0;
    return accept(socket_fd, NULL, NULL) >= 0;
}

static int on_wait(void) {
    const pid_t child = fork();
    if (child == 0) _exit(on_read() ? 7 : 1);
    int status = 0;
    return waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7;
}

static const struct {
    const char* name;
    int (*call)(void);
} calls[] = {
    {"nanosleep", on_nanosleep},
    {"poll", on_poll},
    {"futex", on_futex},
    {"epoll-time-out", on_epoll_time_out},
    {"sigtimedwait", on_sigtimedwait},
    {"read", on_read},
    {"epoll", on_epoll},
    {"accept", on_accept},
    {"wait", on_wait},
};

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run(int (*call)(void)) {
    puts("ready");
    fflush(stdout);
    const double start = seconds_now();
    errno = 0;
    const int whole = call();
    const int error = errno;
    const int cut_short = seconds_now() - start < (double)milliseconds / 1000;
    if (!whole) printf("failed: %s\n", strerror(error));
    if (cut_short) puts("cut short");
    if (whole && !cut_short) puts("whole");
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return whole && !cut_short ? 0 : 1;
}

int main(int argc, char** argv) {
    milliseconds = argc > 2 ? strtol(argv[2], NULL, 0) : 0;
    for (size_t i = 0; argc > 1 && i < sizeof calls / sizeof *calls; ++i)
        if (strcmp(argv[1], calls[i].name) == 0) return run(calls[i].call);
    return 2;
}
