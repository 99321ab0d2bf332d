// Limits, OOM score adjustment, personality and core filter in /proc stay as they are.
#include <fcntl.h>

#include "check.h"

enum { files = 7 };

static const char* const names[files] = {
    "limits",        "oom_score_adj", "personality", "coredump_filter",
    "timerslack_ns", "loginuid",      "comm"};

static ssize_t take(int i, char* text) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/%s", names[i]);
    const int file = open(name, O_RDONLY);
    if (file < 0) return -1;
    const ssize_t length = read(file, text, 4096);
    CALL(close(file));
    return length;
}

int main(void) {
    static char first[files][4096], now[4096];
    ssize_t lengths[files];
    for (int i = 0; i < files; ++i) lengths[i] = take(i, first[i]);
    for (int round = 0; round < 60; ++round) {
        spin(120000);
        for (int i = 0; i < files; ++i) {
            CHECK(take(i, now) == lengths[i]);
            if (lengths[i] > 0) CHECK(memcmp(first[i], now, (size_t)lengths[i]) == 0);
        }
    }
    puts("ok");
}
