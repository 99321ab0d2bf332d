// connect with SO_SNDTIMEO waits for the whole time; only handlers and stops make it return EINTR.
#include <sys/socket.h>
#include <sys/un.h>

#include "waiting.h"

static int listener;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_size = sizeof address;
static struct timeval timeout = {.tv_usec = 1000};

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

// Makes room for the waiting connection, which fills the queue again.
static void wake(void) {
    close(CALL(accept(listener, NULL, NULL)));
}

static long enter(void) {
    const int file = CALL(socket(AF_UNIX, SOCK_STREAM, 0));
    set_timeout(file, SO_SNDTIMEO, timeout);
    const long result = connect(file, (struct sockaddr*)&address, address_size);
    const int error = errno;
    close(file);
    errno = error;
    return result;
}

int main(void) {
    make_listener(0);
    close(connect_one());
    for (int round = 0; round < 20; ++round) {
        spin(50000);
        CHECK(enter() == -1 && errno == EAGAIN);
    }
    timeout = (struct timeval){.tv_sec = 300};
    check_waiting(&(struct waiting_call){enter, wake, .done = 0});
}
