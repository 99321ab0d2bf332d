// A port can be bound and listened at again as soon as the only socket there is closed.
#include <arpa/inet.h>
#include <sys/socket.h>

#include "check.h"

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    for (int round = 0; round < 200; ++round) {
        const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (server < 0) skip("no sockets");
        const int bound = bind(server, (struct sockaddr*)&address, length);
        if (round == 0 && bound != 0) skip("no loopback");
        CHECK(bound == 0);
        CALL(listen(server, 5));
        CALL(getsockname(server, (struct sockaddr*)&address, &length));
        spin(60000);
        CALL(close(server));
    }
    puts("ok");
}
