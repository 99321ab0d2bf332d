// In nested PID namespaces each process has an id in each, which /proc/PID/status lists.
#include "enter.h"

static void ids(const char* name, int* count, int* last) {
    char text[4096] = {0};
    FILE* file = fopen(name, "r");
    CHECK(file && fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    char* at = strstr(text, "NSpid:");
    CHECK(at);
    *count = 0;
    for (char* field = strtok(at + 6, "\t\n"); field && *field >= '0' && *field <= '9';
         field = strtok(NULL, "\t\n")) {
        *last = atoi(field);
        ++*count;
    }
}

static void inner(void) {
    spin(40000);
    CHECK(getpid() == 1);
    int count = 0, last = 0;
    char name[64] = {0};
    CHECK(readlink("/proc/self", name, sizeof name - 1) > 0);
    ids("/proc/self/status", &count, &last);
    CHECK(count >= 3 && last == 1);
}

static void outer(void) {
    as_init(inner);
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 15; ++round) as_init(outer);
    puts("ok");
}
