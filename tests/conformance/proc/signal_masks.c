// SigBlk, SigIgn, SigCgt and SigPnd of /proc/self/status are as the program has set them.
#include <signal.h>

#include "check.h"

static unsigned long field(const char* name) {
    char line[256];
    FILE* file = fopen("/proc/self/status", "r");
    CHECK(file);
    unsigned long value = ~0ul;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0) value = strtoul(line + strlen(name), NULL, 16);
    fclose(file);
    return value;
}

static void handle(int number) {
    (void)number;
}

int main(void) {
    const unsigned long caught = field("SigCgt:"), ignored = field("SigIgn:");
    for (int round = 0; round < 40; ++round) {
        const int number = SIGRTMIN + round % 20;
        const unsigned long bit = 1ul << (number - 1);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, number);
        CALL(sigprocmask(SIG_SETMASK, &set, NULL));
        CHECK(signal(number, handle) != SIG_ERR);
        CALL(raise(number));
        spin(60000);
        CHECK(field("SigBlk:") == bit && field("SigPnd:") == bit);
        CHECK(field("SigCgt:") == (caught | bit) && field("ShdPnd:") == 0);
        CHECK(signal(number, SIG_IGN) != SIG_ERR);
        CHECK(field("SigIgn:") == (ignored | bit) && field("SigCgt:") == caught &&
              field("SigPnd:") == 0);
        CHECK(signal(number, SIG_DFL) != SIG_ERR);
    }
    puts("ok");
}
