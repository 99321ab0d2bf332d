// accept without a time-out goes on after handlers with SA_RESTART and after stops.
#include <sys/socket.h>
#include <sys/un.h>

#include "waiting.h"

static int listener;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_size = sizeof address;

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
    check_waiting(&(struct waiting_call){enter, wake, .done = 0, .restarts = true});
}
