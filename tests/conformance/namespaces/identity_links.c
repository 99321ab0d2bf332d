// The links in /proc/self/ns name the same namespaces at all times.
#include "enter.h"

static void link_of(const char* name, char* text) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/ns/%s", name);
    memset(text, 0, 64);
    CALL(readlink(path, text, 63));
}

int main(void) {
    enter_user_namespace(0);
    char own[64], children[64], now[64];
    link_of("pid", own);
    link_of("pid_for_children", children);
    CHECK(strcmp(own, children) == 0);
    CALL(unshare(CLONE_NEWPID));
    for (int round = 0; round < 60; ++round) {
        spin(60000);
        link_of("pid", now);
        CHECK(strcmp(own, now) == 0);
        memset(now, 0, sizeof now);
        CHECK(readlink("/proc/self/ns/pid_for_children", now, 63) == -1 && errno == ENOENT);
    }
    puts("ok");
}
