// A thread waits in a system call for something that another thread does only after some work. If
// the wait held up the other thread, the program would end by SIGALRM.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "parent.h"
#include "work.h"

static int ends[2], others[2], semaphore;
static mqd_t queue;
static pid_t child;
static volatile int is_waiting;

static void signal_waited_for(sigset_t* set) {
    sigemptyset(set);
    sigaddset(set, SIGUSR1);
}

static long wait_in_sigtimedwait(void) {
    sigset_t set;
    signal_waited_for(&set);
    siginfo_t info;
    return sigwaitinfo(&set, &info) == SIGUSR1 && info.si_pid == getpid();
}
static long wait_in_select(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    return select(ends[0] + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(ends[0], &set);
}
static long wait_in_pselect(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    sigset_t mask;
    signal_waited_for(&mask);
    const struct timespec longest = {100, 0};
    return pselect(ends[0] + 1, &set, NULL, NULL, &longest, &mask) == 1 && FD_ISSET(ends[0], &set);
}
static long wait_in_waitid(void) {
    siginfo_t info;
    return waitid(P_PID, (id_t)child, &info, WEXITED) == 0 && info.si_pid == child;
}
static long wait_in_semop(void) {
    struct sembuf take = {0, -1, 0};
    return semop(semaphore, &take, 1) == 0;
}
static long wait_in_semtimedop(void) {
    struct sembuf take = {0, -1, 0};
    const struct timespec longest = {100, 0};
    return semtimedop(semaphore, &take, 1, &longest) == 0;
}
static long wait_in_mq(void) {
    char text[16];
    unsigned priority = 0;
    return mq_receive(queue, text, sizeof text, &priority) == 3 && memcmp(text, "abc", 3) == 0 &&
           priority == 2;
}
static long wait_in_recvmmsg(void) {
    char text[8];
    struct iovec vector = {text, sizeof text};
    struct mmsghdr message;
    memset(&message, 0, sizeof message);
    message.msg_hdr.msg_iov = &vector;
    message.msg_hdr.msg_iovlen = 1;
    return recvmmsg(ends[0], &message, 1, 0, NULL) == 1 && message.msg_len == 3 &&
           memcmp(text, "abc", 3) == 0;
}
static long wait_in_splice(void) {
    char text[8];
    return splice(ends[0], NULL, others[1], NULL, 3, 0) == 3 && read(others[0], text, 3) == 3 &&
           memcmp(text, "abc", 3) == 0;
}

static volatile int ticks;
static void tick(int number) {
    (void)number;
    ++ticks;
}

// Buffers that the reader has just written to must have what the kernel writes there.
static long wait_in_reads(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    long right = 0;
    for (long turn = 0; turn < 1000; ++turn) {
        struct {
            long beside[4], value;
        } room;
        memset(&room, 0xff, sizeof room);
        struct iovec vector = {&room.value, sizeof room.value};
        const long bytes =
            turn % 2 ? read(ends[0], &room.value, sizeof room.value) : readv(ends[0], &vector, 1);
        if (bytes != sizeof room.value) return -1;
        right += room.value == turn;
    }
    return right;
}

static void open_pipes(void) {
    require(pipe(ends) == 0 && pipe(others) == 0, "pipe");
}
static void open_sockets(void) {
    require(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
}
static void open_semaphore(void) {
    semaphore = semget(IPC_PRIVATE, 1, 0600);
    if (semaphore < 0) _exit(77);
}
static void open_queue(void) {
    char name[64];
    snprintf(name, sizeof name, "/shadowprof-waiting-%d", getpid());
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 16};
    queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
    if (queue == (mqd_t)-1) _exit(77);
    mq_unlink(name);
}
static void start_child(void) {
    open_pipes();
    child = fork();
    char byte;
    if (child != 0) return;
    close(ends[1]);
    _exit(read(ends[0], &byte, 1) >= 0 ? 0 : 1);
}
static void block_signal(void) {
    sigset_t set;
    signal_waited_for(&set);
    require(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0, "pthread_sigmask");
}

static void send_signal(void) {
    kill(getpid(), SIGUSR1);
}
static void send_bytes(void) {
    require(write(ends[1], "abc", 3) == 3, "write");
}
// The signals end stretches of emulation between a write and the next look at the reader's call.
static void send_often(void) {
    signal(SIGPROF, tick);
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    require(setitimer(ITIMER_PROF, &often, NULL) == 0, "setitimer");
    uint64_t state = 1;
    for (long turn = 0; turn < 1000; ++turn) {
        state = work(state, 5000);
        require(write(ends[1], &turn, sizeof turn) == sizeof turn, "write");
        state = work(state, 100000);
    }
    require(setitimer(ITIMER_PROF, &never, NULL) == 0 && state != 0, "setitimer");
}
static void send_messages(void) {
    struct iovec vector = {"abc", 3};
    struct mmsghdr message;
    memset(&message, 0, sizeof message);
    message.msg_hdr.msg_iov = &vector;
    message.msg_hdr.msg_iovlen = 1;
    require(sendmmsg(ends[1], &message, 1, 0) == 1 && message.msg_len == 3, "sendmmsg");
}
static void end_child(void) {
    close(ends[1]);
}
static void give_semaphore(void) {
    struct sembuf give = {0, 1, 0};
    require(semop(semaphore, &give, 1) == 0, "semop");
}
static void queue_message(void) {
    require(mq_send(queue, "abc", 3, 2) == 0, "mq_send");
}

static const struct way {
    const char* name;
    void (*begin)(void);
    long (*wait)(void);
    void (*wake)(void);
} ways[] = {
    {"sigtimedwait", block_signal, wait_in_sigtimedwait, send_signal},
    {"select", open_pipes, wait_in_select, send_bytes},
    {"pselect", open_pipes, wait_in_pselect, send_bytes},
    {"waitid", start_child, wait_in_waitid, end_child},
    {"semop", open_semaphore, wait_in_semop, give_semaphore},
    {"semtimedop", open_semaphore, wait_in_semtimedop, give_semaphore},
    {"mq", open_queue, wait_in_mq, queue_message},
    {"recvmmsg", open_sockets, wait_in_recvmmsg, send_messages},
    {"splice", open_pipes, wait_in_splice, send_bytes},
    {"reads", open_pipes, wait_in_reads, send_often},
};

static void* waiter(void* argument) {
    const struct way* way = argument;
    is_waiting = 1;
    return (void*)way->wait();
}

int main(int argc, char* argv[]) {
    for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof *ways; ++i) {
        if (strcmp(ways[i].name, argv[1]) != 0) continue;
        alarm(100);
        ways[i].begin();
        pthread_t thread;
        require(pthread_create(&thread, NULL, waiter, (void*)&ways[i]) == 0, "pthread_create");
        uint64_t state = 1;
        do state = work(state, 1000000);
        while (!is_waiting);
        state = work(state, 1000000);
        ways[i].wake();
        void* came;
        require(pthread_join(thread, &came) == 0, "pthread_join");
        if (strncmp(argv[1], "sem", 3) == 0) semctl(semaphore, 0, IPC_RMID);
        printf("%s: %ld\n", argv[1], (long)came);
        return 0;
    }
    return 2;
}
