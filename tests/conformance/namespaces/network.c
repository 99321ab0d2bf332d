// A new network namespace has only the loopback, which is down, and ports of its own.
#include <arpa/inet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "enter.h"

int main(void) {
    enter_user_namespace(CLONE_NEWNET);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(7)};
    const int control = CALL(socket(AF_INET, SOCK_DGRAM, 0));
    for (int round = 0; round < 60; ++round) {
        struct if_nameindex* names = if_nameindex();
        CHECK(names && names[0].if_index && strcmp(names[0].if_name, "lo") == 0);
        if_freenameindex(names);
        struct ifreq request = {.ifr_name = "lo"};
        CALL(ioctl(control, SIOCGIFFLAGS, &request));
        CHECK(!(request.ifr_flags & IFF_UP) == (round == 0));
        request.ifr_flags |= IFF_UP;
        CALL(ioctl(control, SIOCSIFFLAGS, &request));
        const int server = CALL(socket(AF_INET, SOCK_STREAM, 0));
        CALL(bind(server, (struct sockaddr*)&address, sizeof address));
        CALL(listen(server, 1));
        const int client = CALL(socket(AF_INET, SOCK_STREAM, 0));
        CALL(connect(client, (struct sockaddr*)&address, sizeof address));
        spin(50000);
        CALL(close(client));
        CALL(close(server));
    }
    puts("ok");
}
