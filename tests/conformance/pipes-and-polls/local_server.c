// A server and three clients over loopback: each byte arrives once, and each end is seen.
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

#include "check.h"

static struct sockaddr_in address = {.sin_family = AF_INET};

static void* client(void* argument) {
    for (int round = 0; round < 15; ++round) {
        const int connection = CALL(socket(AF_INET, SOCK_STREAM, 0));
        CALL(connect(connection, (struct sockaddr*)&address, sizeof address));
        char text[1000], got[1000];
        memset(text, *(int*)argument + round, sizeof text);
        CHECK(send(connection, text, sizeof text, 0) == sizeof text);
        CALL(shutdown(connection, SHUT_WR));
        CHECK(recv(connection, got, sizeof got, MSG_WAITALL) == sizeof got);
        CHECK(memcmp(text, got, sizeof got) == 0);
        CHECK(recv(connection, got, 1, 0) == 0);
        CALL(close(connection));
        spin(30000);
    }
    return NULL;
}

int main(void) {
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int server = CALL(socket(AF_INET, SOCK_STREAM, 0));
    if (bind(server, (struct sockaddr*)&address, sizeof address) != 0) skip("no loopback");
    CALL(listen(server, 8));
    socklen_t length = sizeof address;
    CALL(getsockname(server, (struct sockaddr*)&address, &length));
    int numbers[3] = {1, 50, 100};
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) CHECK(!pthread_create(&threads[i], NULL, client, &numbers[i]));
    for (int served = 0; served < 45; ++served) {
        const int connection = CALL(accept(server, NULL, NULL));
        char text[1000];
        CHECK(recv(connection, text, sizeof text, MSG_WAITALL) == sizeof text);
        CHECK(recv(connection, text, 1, 0) == 0 || !"more than was sent");
        CHECK(send(connection, text, sizeof text, 0) == sizeof text);
        CALL(close(connection));
        spin(20000);
    }
    for (int i = 0; i < 3; ++i) CHECK(!pthread_join(threads[i], NULL));
    puts("ok");
}
