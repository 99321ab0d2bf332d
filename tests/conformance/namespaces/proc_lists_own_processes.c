// A /proc of a PID namespace lists its own processes alone, and none of them is a zombie.
#include <dirent.h>
#include <sys/mount.h>

#include "enter.h"

static int listed(int* zombies) {
    DIR* folder = opendir("/proc");
    CHECK(folder);
    int found = 0;
    for (struct dirent* entry; (entry = readdir(folder));) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
        ++found;
        char name[300], text[512] = {0};
        snprintf(name, sizeof name, "/proc/%s/stat", entry->d_name);
        FILE* file = fopen(name, "r");
        if (!file) continue;
        if (fgets(text, sizeof text, file)) *zombies += strrchr(text, ')')[2] == 'Z';
        fclose(file);
    }
    closedir(folder);
    return found;
}

static void body(void) {
    CALL(unshare(CLONE_NEWNS));
    CALL(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
    if (mount("proc", "/proc", "proc", 0, NULL) != 0) _exit(status_skipped);
    int gate[2], zombies = 0;
    CALL(pipe(gate));
    const pid_t child = CALL(fork());
    if (child == 0) {
        char byte;
        CHECK(read(gate[0], &byte, 1) == 1);
        _exit(0);
    }
    for (int look = 0; look < 10; ++look) {
        CHECK(listed(&zombies) == 2 && zombies == 0);
        spin(60000);
    }
    CHECK(write(gate[1], "x", 1) == 1);
    siginfo_t info;
    CALL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
    CHECK(listed(&zombies) == 2 && zombies == 1);
    expect_exit(child, 0);
    zombies = 0;
    for (int look = 0; look < 10; ++look) {
        CHECK(listed(&zombies) == 1 && zombies == 0);
        spin(60000);
    }
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 6; ++round) as_init(body);
    puts("ok");
}
