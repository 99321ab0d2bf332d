// Reads pseudo-random bytes that its children send, in the way that argv[1] names, and checks that
// it got each byte once and in order. argv[2]: mebibytes from each child; 0: until SIGTERM.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

uint64_t input_sum(const unsigned char* bytes, size_t count, uint64_t sum);

enum { buffer_bytes = 4096, max_children = 2, bytes_per_pause = 512 << 10 };

static volatile sig_atomic_t told_to_end;
static uint64_t bytes_per_child;  // 0: unlimited

struct stream {
    uint64_t state;
    uint64_t bytes, sum;  // number and sum of the bytes that were read
    int fd;
    int ended;
};

static struct stream streams[max_children];

static void fail(const char* what) {
    printf("input: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void on_term(int signal) {
    (void)signal;
    told_to_end = 1;
}

static void seed(struct stream* stream, uint64_t number) {
    *stream = (struct stream){.state = 0x9e3779b97f4a7c15 * (number + 1), .fd = -1};
}

static unsigned char next_byte(struct stream* stream) {
    stream->state ^= stream->state << 13;
    stream->state ^= stream->state >> 7;
    stream->state ^= stream->state << 17;
    return (unsigned char)(stream->state >> 40);
}

// The correct sum of the first `bytes` bytes of a stream.
__attribute__((noinline)) static uint64_t model(uint64_t number, uint64_t bytes) {
    struct stream stream;
    uint64_t sum = 0;
    seed(&stream, number);
    for (uint64_t i = 0; i < bytes; ++i) sum = 5 * sum + (next_byte(&stream) < 64 ? 3 : 1);
    return sum;
}

static void take(struct stream* stream, const unsigned char* bytes, size_t count) {
    if (count == 0) return;
    stream->sum = input_sum(bytes, count, stream->sum);
    stream->bytes += count;
}

static void write_all(int fd, const unsigned char* bytes, size_t count) {
    while (count > 0) {
        const ssize_t done = write(fd, bytes, count);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) _exit(0);  // the reader has gone
        bytes += done;
        count -= (size_t)done;
    }
}

// Makes pieces of many sizes, with pauses between some of them: senders that never wait would leave
// small machines no time for anything else.
static size_t make_piece(struct stream* stream, unsigned char* piece, size_t room) {
    size_t count = 1 + stream->state % room;
    if (bytes_per_child != 0 && count > bytes_per_child - stream->bytes)
        count = bytes_per_child - stream->bytes;
    for (size_t i = 0; i < count; ++i) piece[i] = next_byte(stream);
    if (stream->bytes / bytes_per_pause != (stream->bytes + count) / bytes_per_pause) usleep(1000);
    stream->bytes += count;
    return count;
}

static void send_stream(uint64_t number, int fd) {
    unsigned char piece[2 * buffer_bytes];
    struct stream stream;
    seed(&stream, number);
    while (bytes_per_child == 0 || stream.bytes < bytes_per_child)
        write_all(fd, piece, make_piece(&stream, piece, sizeof piece));
    _exit(0);
}

static pid_t children[max_children];

// Starts a child that runs `body`. It has no inherited descriptor but `kept`, and ends with its
// parent.
static void start_child(uint64_t number, int kept, void (*body)(uint64_t, int)) {
    const pid_t parent = getpid();
    const pid_t child = children[number] = fork();
    if (child < 0) fail("fork");
    if (child != 0) return;
    for (int fd = 3; fd < 64; ++fd)
        if (fd != kept) close(fd);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, SIG_DFL);
    if (getppid() == parent) body(number, kept);
    _exit(0);
}

static void start_sender(uint64_t number, int ends[2]) {
    start_child(number, ends[1], send_stream);
    close(ends[1]);
    streams[number].fd = ends[0];
}

static void start_pipe(uint64_t number) {
    int ends[2];
    seed(&streams[number], number);
    if (pipe(ends) != 0) fail("pipe");
    start_sender(number, ends);
}

static void start_socket(uint64_t number) {
    int ends[2];
    seed(&streams[number], number);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) fail("socketpair");
    start_sender(number, ends);
}

// Counts the bytes that one call has returned. Returns 0 at the end of the stream.
static int took(struct stream* stream, const unsigned char* bytes, ssize_t got) {
    if (got < 0 && errno == EINTR) return 1;
    if (got < 0) fail("reading");
    take(stream, bytes, (size_t)got);
    return got > 0;
}

static void read_stream(struct stream* stream) {
    unsigned char buffer[buffer_bytes];
    while (!told_to_end && took(stream, buffer, read(stream->fd, buffer, sizeof buffer))) {
    }
}

static void in_read(void) {
    start_pipe(0);
    read_stream(&streams[0]);
}

static void in_readv(void) {
    unsigned char buffer[buffer_bytes];
    start_pipe(0);
    struct iovec parts[] = {{buffer, 100}, {buffer + 100, 1}, {buffer + 101, sizeof buffer - 101}};
    while (!told_to_end && took(&streams[0], buffer, readv(streams[0].fd, parts, 3))) {
    }
}

// Calls recvfrom, recvmsg and recvmmsg in turn.
static void in_recv(void) {
    unsigned char buffer[buffer_bytes];
    start_socket(0);
    const int fd = streams[0].fd;
    for (int more = 1, turn = 0; more && !told_to_end; ++turn) {
        struct iovec parts[] = {{buffer, 1000}, {buffer + 1000, sizeof buffer - 1000}};
        char control[64];
        struct mmsghdr message = {.msg_hdr = {.msg_iov = parts,
                                              .msg_iovlen = 2,
                                              .msg_control = control,
                                              .msg_controllen = sizeof control}};
        ssize_t got = 0;
        switch (turn % 3) {
            case 0:
                got = recvfrom(fd, buffer, sizeof buffer, 0, NULL, NULL);
                break;
            case 1:
                got = recvmsg(fd, &message.msg_hdr, 0);
                break;
            case 2:
                got = recvmmsg(fd, &message, 1, MSG_WAITFORONE, NULL);
                if (got == 1) got = message.msg_len;
                break;
        }
        more = took(&streams[0], buffer, got);
    }
}

// Two streams with non-blocking descriptors.

static int read_what_is_there(struct stream* stream) {
    unsigned char buffer[buffer_bytes];
    const ssize_t got = read(stream->fd, buffer, sizeof buffer);
    if (got < 0 && errno == EAGAIN) return 0;
    stream->ended = !took(stream, buffer, got);
    return !stream->ended;
}

static void start_two_pipes(void) {
    for (uint64_t i = 0; i < 2; ++i) {
        start_pipe(i);
        fcntl(streams[i].fd, F_SETFL, O_NONBLOCK);
    }
}

static int goes_on(void) {
    return !told_to_end && !(streams[0].ended && streams[1].ended);
}

static void in_poll(void) {
    start_two_pipes();
    while (goes_on()) {
        struct pollfd entries[2];
        for (int i = 0; i < 2; ++i)
            entries[i] = (struct pollfd){streams[i].ended ? -1 : streams[i].fd, POLLIN, 0};
        if (poll(entries, 2, 1000) < 0 && errno != EINTR) fail("poll");
        for (int i = 0; i < 2; ++i)
            if (entries[i].revents) read_what_is_there(&streams[i]);
    }
}

static void in_select(void) {
    start_two_pipes();
    while (goes_on()) {
        fd_set set;
        FD_ZERO(&set);
        for (int i = 0; i < 2; ++i)
            if (!streams[i].ended) FD_SET(streams[i].fd, &set);
        struct timeval time = {.tv_sec = 1};
        if (select(64, &set, NULL, NULL, &time) < 0) {
            if (errno != EINTR) fail("select");
            continue;
        }
        for (int i = 0; i < 2; ++i)
            if (FD_ISSET(streams[i].fd, &set)) read_what_is_there(&streams[i]);
    }
}

static void in_epoll(void) {
    start_two_pipes();
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (uint32_t i = 0; i < 2; ++i) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = i}};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, streams[i].fd, &event) != 0) fail("epoll_ctl");
    }
    while (goes_on()) {
        struct epoll_event events[2];
        const int count = epoll_wait(epoll, events, 2, 1000);
        if (count < 0 && errno != EINTR) fail("epoll_wait");
        for (int i = 0; i < count; ++i) {
            struct stream* stream = &streams[events[i].data.u32];
            while (read_what_is_there(stream)) {
            }
            if (stream->ended) epoll_ctl(epoll, EPOLL_CTL_DEL, stream->fd, NULL);
        }
    }
}

static void* read_in_thread(void* stream) {
    read_stream(stream);
    return NULL;
}

static void in_threads(void) {
    pthread_t threads[2];
    for (uint64_t i = 0; i < 2; ++i) start_pipe(i);
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, read_in_thread, &streams[i]);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static void in_terminal(void) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    seed(&streams[0], 0);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) fail("posix_openpt");
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    struct termios settings;
    if (slave < 0 || tcgetattr(slave, &settings) != 0) fail("terminal");
    cfmakeraw(&settings);
    tcsetattr(slave, TCSANOW, &settings);
    start_child(0, master, send_stream);
    streams[0].fd = slave;
    unsigned char buffer[buffer_bytes];
    while (!told_to_end && (bytes_per_child == 0 || streams[0].bytes < bytes_per_child))
        if (!took(&streams[0], buffer, read(slave, buffer, sizeof buffer))) fail("terminal ended");
}

// Reads while signals arrive.

static volatile sig_atomic_t alarms;

static void on_alarm(int signal) {
    (void)signal;
    ++alarms;
}

static void read_under_alarms(int flags) {
    unsigned char buffer[buffer_bytes];
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
    const struct itimerval period = {{.tv_usec = 3000}, {.tv_usec = 3000}};
    start_pipe(0);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &period, NULL);
    while (!told_to_end) {
        const ssize_t got = read(streams[0].fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR && (flags & SA_RESTART) && !told_to_end) fail("SA_RESTART");
        if (!took(&streams[0], buffer, got)) break;
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    if (alarms == 0) printf("input: no alarms\n");
}

static void in_restarted(void) {
    read_under_alarms(SA_RESTART);
}

static void in_interrupted(void) {
    read_under_alarms(0);
}

// An echo server and its two clients. A client connects anew for each piece and checks the answer.

enum { connection_bytes = 30000 };

static void be_client(uint64_t number, int port) {
    static unsigned char piece[connection_bytes], back[connection_bytes];
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct stream stream;
    seed(&stream, number);
    while (bytes_per_child == 0 || stream.bytes < bytes_per_child) {
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (const struct sockaddr*)&address, sizeof address) != 0) _exit(0);
        const size_t count = make_piece(&stream, piece, sizeof piece);
        const unsigned char tag = (unsigned char)number;
        write_all(fd, &tag, 1);
        write_all(fd, piece, count);
        for (size_t got = 0; got < count;) {
            const ssize_t more = read(fd, back + got, count - got);
            if (more <= 0) _exit(2);
            got += (size_t)more;
        }
        if (memcmp(piece, back, count) != 0) _exit(2);
        close(fd);
    }
    _exit(0);
}

struct connection {
    int tag;  // of the client; -1: not known yet
};

static void serve(int epoll, int fd, struct connection* connection) {
    unsigned char buffer[buffer_bytes];
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
        epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
        close(fd);
        return;
    }
    const int tagged = connection->tag < 0;
    if (tagged) connection->tag = buffer[0];
    take(&streams[connection->tag], buffer + tagged, (size_t)(got - tagged));
    write_all(fd, buffer + tagged, (size_t)(got - tagged));
}

static int served_all(void) {
    return bytes_per_child != 0 && streams[0].bytes == bytes_per_child &&
           streams[1].bytes == bytes_per_child;
}

static void in_server(void) {
    static struct connection connections[1024];
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr*)&address, size) != 0 || listen(listener, 16) != 0 ||
        getsockname(listener, (struct sockaddr*)&address, &size) != 0)
        fail("listen");
    for (uint64_t i = 0; i < 2; ++i) {
        seed(&streams[i], i);
        start_child(i, ntohs(address.sin_port), be_client);
    }
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = listener}};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0) fail("epoll_ctl");
    while (!told_to_end && !served_all()) {
        struct epoll_event events[8];
        const int count = epoll_wait(epoll, events, 8, 1000);
        if (count < 0 && errno != EINTR) fail("epoll_wait");
        for (int i = 0; i < count; ++i) {
            const int fd = events[i].data.fd;
            if (fd != listener) {
                serve(epoll, fd, &connections[fd]);
                continue;
            }
            struct sockaddr_in peer;
            socklen_t peer_size = sizeof peer;
            const int accepted =
                accept4(listener, (struct sockaddr*)&peer, &peer_size, SOCK_CLOEXEC);
            if (accepted < 0) continue;
            if (peer_size != sizeof peer || peer.sin_family != AF_INET || accepted >= 1024)
                fail("peer");
            connections[accepted].tag = -1;
            event = (struct epoll_event){.events = EPOLLIN, .data = {.fd = accepted}};
            if (epoll_ctl(epoll, EPOLL_CTL_ADD, accepted, &event) != 0) fail("epoll_ctl");
        }
    }
}

static const struct {
    const char* name;
    void (*run)(void);
    uint64_t children;
} ways[] = {{"read", in_read, 1},           {"readv", in_readv, 1},
            {"recv", in_recv, 1},           {"poll", in_poll, 2},
            {"select", in_select, 2},       {"epoll", in_epoll, 2},
            {"threads", in_threads, 2},     {"terminal", in_terminal, 1},
            {"restarted", in_restarted, 1}, {"interrupted", in_interrupted, 1},
            {"server", in_server, 2}};

// Ends all children. Returns 0 if a client got back something else than it had sent.
static int end_children(uint64_t count) {
    int right = 1;
    for (uint64_t i = 0; bytes_per_child == 0 && i < count; ++i) kill(children[i], SIGKILL);
    for (int status; wait(&status) > 0;)
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0) right = 0;
    if (!right) printf("input: a client got something else back\n");
    return right;
}

// Whether each child's stream arrived as it was sent.
static int is_whole(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        const struct stream* stream = &streams[i];
        const int all = bytes_per_child == 0 || stream->bytes == bytes_per_child;
        if (all && stream->sum == model(i, stream->bytes)) continue;
        printf("input: stream %" PRIu64 " is not what was sent\n", i);
        return 0;
    }
    if (bytes_per_child == 0) printf("input: unharmed\n");
    for (uint64_t i = 0; bytes_per_child != 0 && i < count; ++i)
        printf("input: %" PRIu64 " bytes, sum %" PRIx64 "\n", streams[i].bytes, streams[i].sum);
    return 1;
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    bytes_per_child = strtoull(argv[2], NULL, 0) << 20;
    const struct sigaction on_end = {.sa_handler = on_term};
    sigaction(SIGTERM, &on_end, NULL);
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        if (strcmp(ways[i].name, argv[1]) != 0) continue;
        ways[i].run();
        for (int fd = 3; fd < 64; ++fd) close(fd);
        return end_children(ways[i].children) && is_whole(ways[i].children) ? 0 : 1;
    }
    return 2;
}
