// Capabilities survive a change of the user with PR_SET_KEEPCAPS, not without.
#include <linux/capability.h>
#include <sys/syscall.h>

#include "child.h"

static struct __user_cap_data_struct capabilities(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    CALL(syscall(SYS_capget, &header, data));
    return data[0];
}

int main(void) {
    if (geteuid() != 0) skip("not root");
    const unsigned all = capabilities().permitted;
    if (!(all & 1u << CAP_SETUID)) skip("no right to become another user");
    for (int round = 0; round < 40; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            const int keep = round % 2;
            CALL(prctl(PR_SET_KEEPCAPS, keep));
            if (setresuid(65534, 65534, 65534) != 0) _exit(status_skipped);
            spin(40000);
            CHECK(capabilities().permitted == (keep ? all : 0));
            CHECK(capabilities().effective == 0);
            _exit(0);
        }
        spin(40000);
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        if (WEXITSTATUS(status) == status_skipped) skip("no other user");
        CHECK(status == 0);
    }
    puts("ok");
}
