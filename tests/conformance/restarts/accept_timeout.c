// accept with SO_RCVTIMEO waits for the whole time; only handlers and stops make it return EINTR.
#include <sys/socket.h>
#include <sys/un.h>

#include "waiting.h"

static int listener;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_size = sizeof address;

static void set_timeout(int file, int option, struct timeval timeout) {
    CALL(setsockopt(file, SOL_SOCKET, option, &timeout, sizeof timeout));
}

// The kernel chooses an abstract name, which is no file.
static void make_listener(int backlog) {
    listener = CALL(socket(AF_UNIX, SOCK_STREAM, 0));
    CALL(bind(listener, (struct sockaddr*)&address, sizeof address.sun_family));
    CALL(getsockname(listener, (struct sockaddr*)&address, &address_size));
    CALL(listen(listener, backlog));
}

static int connect_one(void) {
    const int file = CALL(socket(AF_UNIX, SOCK_STREAM, 0));
    CALL(connect(file, (struct sockaddr*)&address, address_size));
    return file;
}

static void wake(void) {
    close(connect_one());
}

static long enter(void) {
    const int file = accept(listener, NULL, NULL);
    if (file < 0) return -1;
    close(file);
    return 0;
}

int main(void) {
    make_listener(8);
    set_timeout(listener, SO_RCVTIMEO, (struct timeval){.tv_usec = 1000});
    for (int round = 0; round < 20; ++round) {
        spin(50000);
        CHECK(enter() == -1 && errno == EAGAIN);
    }
    set_timeout(listener, SO_RCVTIMEO, (struct timeval){.tv_sec = 300});
    check_waiting(&(struct waiting_call){enter, wake, .done = 0});
}
