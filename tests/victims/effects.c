// Has effects that other processes can see, some hundred thousand instructions apart, and proves at
// the end that each of them happened exactly once. Leaves files in the folder argv[1] for a second
// opinion:
//   log        one line a round, written with O_APPEND
//   mapped     a counter in a shared mapping
//   final-N    renamed from draft-N; only the last round's file remains, earlier ones were deleted
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "work.h"

static void require(int condition, const char* what, unsigned round) {
    if (condition) return;
    printf("effects: %s in round %u: %s\n", what, round, strerror(errno));
    exit(1);
}

struct world {
    int log_fd;
    int udp_fd;      // bound to a loopback port and connected to itself
    int pair_fd[2];  // a stream
    uint64_t* mapped;
};

static void set_up(struct world* world, const char* folder) {
    require(chdir(folder) == 0, "chdir", 0);
    world->log_fd = open("log", O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0644);
    require(world->log_fd >= 0, "log", 0);
    const int mapped_fd = open("mapped", O_RDWR | O_CREAT | O_EXCL, 0644);
    require(mapped_fd >= 0 && ftruncate(mapped_fd, 4096) == 0, "mapped", 0);
    world->mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mapped_fd, 0);
    require(world->mapped != MAP_FAILED, "mmap", 0);
    close(mapped_fd);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    world->udp_fd = socket(AF_INET, SOCK_DGRAM, 0);
    require(bind(world->udp_fd, (struct sockaddr*)&address, length) == 0, "bind", 0);
    require(getsockname(world->udp_fd, (struct sockaddr*)&address, &length) == 0, "name", 0);
    require(connect(world->udp_fd, (struct sockaddr*)&address, length) == 0, "connect", 0);
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, world->pair_fd) == 0, "socketpair", 0);
}

static void touch_files(unsigned round) {
    char draft[32], final[32], previous[32];
    snprintf(draft, sizeof draft, "draft-%u", round);
    snprintf(final, sizeof final, "final-%u", round);
    snprintf(previous, sizeof previous, "final-%u", round - 1);
    const int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL, 0644);
    require(fd >= 0, "draft", round);
    require(write(fd, draft, strlen(draft)) == (ssize_t)strlen(draft), "write", round);
    close(fd);
    require(rename(draft, final) == 0, "rename", round);
    require(round == 1 || unlink(previous) == 0, "unlink", round);
}

// Messages of earlier rounds must not come again, and none may be missing.
static void exchange_messages(const struct world* world, unsigned round) {
    unsigned received = 0, more = 0;
    require(send(world->udp_fd, &round, sizeof round, 0) == sizeof round, "send", round);
    require(recv(world->udp_fd, &received, sizeof received, 0) == sizeof received, "recv", round);
    require(received == round, "datagram of another round", round);
    require(recv(world->udp_fd, &more, sizeof more, MSG_DONTWAIT) < 0, "datagram twice", round);
    require(write(world->pair_fd[0], &round, sizeof round) == sizeof round, "pair", round);
    require(read(world->pair_fd[1], &received, sizeof received) == sizeof received, "read", round);
    require(received == round, "stream of another round", round);
    require(recv(world->pair_fd[1], &more, sizeof more, MSG_DONTWAIT) < 0, "stream twice", round);
}

static void one_round(const struct world* world, unsigned round) {
    char line[32];
    const int length = snprintf(line, sizeof line, "round %u\n", round);
    require(write(world->log_fd, line, (size_t)length) == length, "log", round);
    require(++*world->mapped == round, "shared mapping counted twice", round);
    touch_files(round);
    exchange_messages(world, round);
}

static void check_log(unsigned rounds) {
    FILE* log = fopen("log", "r");
    require(log != NULL, "log", 0);
    for (unsigned round = 1, logged = 0; round <= rounds; ++round) {
        require(fscanf(log, "round %u\n", &logged) == 1, "line missing", round);
        require(logged == round, "line of another round", round);
    }
    require(fgetc(log) == EOF, "lines too many", rounds);
    fclose(log);
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 15000;
    struct world world;
    uint64_t state = 1;
    set_up(&world, argv[1]);
    for (unsigned round = 1; round <= rounds; ++round) {
        state = work(state, 60000);
        one_round(&world, round);
    }
    check_log(rounds);
    printf("effects: %u rounds, each once; %" PRIx64 "\n", rounds, state);
    return 0;
}
