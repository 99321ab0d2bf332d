// Capabilities that are dropped stay dropped, in children too; those that are kept work.
#include <linux/capability.h>
#include <sys/syscall.h>

#include "child.h"

static unsigned effective(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    CALL(syscall(SYS_capget, &header, data));
    return data[0].effective;
}

int main(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {0};
    const unsigned kept = effective() & (1u << CAP_CHOWN | 1u << CAP_KILL);
    data[0].effective = data[0].permitted = kept;
    CALL(syscall(SYS_capset, &header, data));
    for (int round = 0; round < 60; ++round) {
        spin(60000);
        CHECK(effective() == kept);
        data[0].effective = data[0].permitted = kept | 1u << CAP_SYS_ADMIN;
        CHECK(syscall(SYS_capset, &header, data) == -1 && errno == EPERM);
        if (round % 4) continue;
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(20000);
            _exit(effective() == kept ? 0 : 1);
        }
        expect_exit(child, 0);
    }
    puts("ok");
}
