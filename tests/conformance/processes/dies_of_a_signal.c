// A process that raises a deadly signal after much work dies of that signal.
// signal: SIGTERM
#include <signal.h>
#include <sys/resource.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 200; ++round) spin(150000);
    CHECK(signal(SIGTERM, SIG_DFL) != SIG_ERR);
    sigset_t none;
    sigemptyset(&none);
    CALL(sigprocmask(SIG_SETMASK, &none, NULL));
    CALL(raise(SIGTERM));
    CHECK(!"it lives");
}
