// A connection to a server's socket is refused as soon as the server has closed it.
#include <sys/socket.h>
#include <sys/un.h>

#include "check.h"

int main(void) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int length =
        snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "conformance-%d", getpid());
    const socklen_t size = (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)length);
    for (int round = 0; round < 150; ++round) {
        const int server = CALL(socket(AF_UNIX, SOCK_STREAM, 0));
        CALL(bind(server, (struct sockaddr*)&name, size));
        CALL(listen(server, 3));
        const int client = CALL(socket(AF_UNIX, SOCK_STREAM, 0));
        CALL(connect(client, (struct sockaddr*)&name, size));
        spin(60000);
        CALL(close(server));
        const int late = CALL(socket(AF_UNIX, SOCK_STREAM, 0));
        CHECK(connect(late, (struct sockaddr*)&name, size) == -1 && errno == ECONNREFUSED);
        char byte;
        CHECK(recv(client, &byte, 1, MSG_DONTWAIT) <= 0);
        CALL(close(client));
        CALL(close(late));
    }
    puts("ok");
}
