// A port is free again when the process that listened there was killed and waited for.
#include <arpa/inet.h>
#include <sys/socket.h>

#include "child.h"

static struct sockaddr_in address = {.sin_family = AF_INET};

static int listen_there(void) {
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server < 0) return -1;
    if (bind(server, (struct sockaddr*)&address, sizeof address) == 0 && listen(server, 3) == 0)
        return server;
    close(server);
    return -1;
}

int main(void) {
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int first = listen_there();
    if (first < 0) skip("no loopback");
    socklen_t length = sizeof address;
    CALL(getsockname(first, (struct sockaddr*)&address, &length));
    CALL(close(first));
    for (int round = 0; round < 40; ++round) {
        int ready[2];
        CALL(pipe(ready));
        const pid_t child = CALL(fork());
        if (child == 0) {
            CALL(listen_there());
            CHECK(write(ready[1], "x", 1) == 1);
            spin_for_ever();
        }
        char byte;
        CALL(close(ready[1]));
        CHECK(read(ready[0], &byte, 1) == 1);
        CHECK(listen_there() == -1);
        spin(80000);
        CALL(kill(child, SIGKILL));
        expect_killed(child, SIGKILL);
        CALL(close(CALL(listen_there())));
        CALL(close(ready[0]));
    }
    puts("ok");
}
