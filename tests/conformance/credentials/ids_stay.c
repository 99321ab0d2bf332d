// User and group ids, supplementary groups and capabilities are the same at all times.
#include <grp.h>
#include <linux/capability.h>
#include <sys/syscall.h>

#include "check.h"

struct credentials {
    uid_t users[3];
    gid_t groups[3];
    int count;
    gid_t more[64];
    struct __user_cap_data_struct capabilities[2];
};

static void take(struct credentials* all) {
    memset(all, 0, sizeof *all);
    CALL(getresuid(&all->users[0], &all->users[1], &all->users[2]));
    CALL(getresgid(&all->groups[0], &all->groups[1], &all->groups[2]));
    all->count = getgroups(64, all->more);
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    CALL(syscall(SYS_capget, &header, all->capabilities));
}

int main(void) {
    struct credentials first, now;
    take(&first);
    for (int round = 0; round < 150; ++round) {
        spin(80000);
        take(&now);
        CHECK(memcmp(&first, &now, sizeof now) == 0);
    }
    puts("ok");
}
