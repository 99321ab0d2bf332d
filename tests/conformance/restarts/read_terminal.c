// read of a terminal waits for a line through stops and handlers with SA_RESTART.
#include "waiting.h"

static int master, terminal;

static void wake(void) {
    CHECK(write(master, "line\n", 5) == 5);
}

static long enter(void) {
    char text[16];
    const long result = read(terminal, text, sizeof text);
    CHECK(result < 0 || memcmp(text, "line\n", 5) == 0);
    return result;
}

int main(void) {
    master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0) skip("no pseudoterminals");
    CALL(grantpt(master));
    CALL(unlockpt(master));
    terminal = CALL(open(ptsname(master), O_RDWR | O_NOCTTY));
    check_waiting(&(struct waiting_call){enter, wake, .done = 5, .restarts = true});
}
