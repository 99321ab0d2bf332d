// /proc/self/status does not change while a process only computes.
#include <fcntl.h>

#include "check.h"

static size_t take(char* text, size_t size) {
    const int file = CALL(open("/proc/self/status", O_RDONLY));
    const ssize_t length = CALL(read(file, text, size - 1));
    CALL(close(file));
    text[length] = 0;
    return (size_t)length;
}

static const char* const kept[] = {
    "Name:",    "Umask:",  "Tgid:",       "Pid:",    "PPid:",    "Uid:",    "FDSize:",
    "Groups:",  "NStgid:", "NSpid:",      "VmPeak:", "VmSize:",  "VmLck:",  "VmPin:",
    "VmData:",  "VmStk:",  "VmExe:",      "VmLib:",  "Threads:", "SigPnd:", "ShdPnd:",
    "SigBlk:",  "SigIgn:", "SigCgt:",     "CapEff:", "CapPrm:",  "CapBnd:", "NoNewPrivs:",
    "Seccomp:", "Gid:",    "CoreDumping:"};

int main(void) {
    static char first[8192], now[8192];
    take(first, sizeof first);
    take(first, sizeof first);
    for (int round = 0; round < 100; ++round) {
        spin(120000);
        take(now, sizeof now);
        for (size_t i = 0; i < sizeof kept / sizeof *kept; ++i) {
            char name[32];
            snprintf(name, sizeof name, "\n%s", kept[i]);
            const char* a = strstr(first, i ? name : kept[i]);
            const char* b = strstr(now, i ? name : kept[i]);
            CHECK(!a == !b);
            if (!a) continue;
            const size_t length = strcspn(a + 1, "\n") + 1;
            if (strncmp(a, b, length + 1) != 0)
                printf("%.*s\n%.*s\n", (int)length, a, (int)length, b);
            CHECK(strncmp(a, b, length + 1) == 0);
        }
    }
    puts("ok");
}
