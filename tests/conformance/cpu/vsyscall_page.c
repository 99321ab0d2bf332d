// Functions of the vsyscall page, if there is one, return what their system calls return.
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

#include "check.h"

static int has_page(void) {
    char line[512];
    int found = 0;
    FILE* maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) return 0;
    while (fgets(line, sizeof line, maps) != NULL) found |= strstr(line, "[vsyscall]") != NULL;
    fclose(maps);
    return found;
}

int main(void) {
    if (!has_page()) skip("no vsyscall page");
    int (*get_time)(struct timeval*, void*) = (void*)0xffffffffff600000;
    time_t (*get_seconds)(time_t*) = (void*)0xffffffffff600400;
    for (int round = 0; round < 60; ++round) {
        struct timeval first, second;
        spin(400000);
        CHECK(gettimeofday(&first, NULL) == 0 && get_time(&second, NULL) == 0);
        CHECK(second.tv_sec - first.tv_sec < 1000 && second.tv_usec < 1000000);
        CHECK(get_seconds(NULL) - second.tv_sec < 1000);
    }
    printf("ok\n");
}
