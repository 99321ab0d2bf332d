// A program that is linked statically executes itself again and again.
// flags: -static
#include "child.h"

int main(int count, char** arguments) {
    const int left = count > 1 ? atoi(arguments[1]) : 30;
    spin(300000);
    if (left == 0) {
        puts("ok");
        return 0;
    }
    char next[16];
    snprintf(next, sizeof next, "%d", left - 1);
    execl("/proc/self/exe", "self", next, NULL);
    CHECK(!"exec failed");
}
