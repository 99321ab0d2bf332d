// open of a FIFO waits for the other end, through stops and handlers with SA_RESTART.
#include <sys/stat.h>

#include "waiting.h"

static char path[512];
static volatile int other_end = -1;

// Opening both ends does not wait. The descriptor stays open until the waiting open has returned.
static void wake(void) {
    other_end = CALL(open(path, O_RDWR));
}

static long enter(void) {
    const int file = open(path, O_RDONLY);
    if (file < 0) return -1;
    close(file);
    if (other_end >= 0) close(other_end);
    other_end = -1;
    return 0;
}

int main(void) {
    char folder[256];
    const char* parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/fifo-XXXXXX", parent != NULL ? parent : "/tmp");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/fifo", folder);
    CALL(mkfifo(path, 0600));
    check_waiting(&(struct waiting_call){enter, wake, .done = 0, .restarts = true});
    CALL(unlink(path));
    CALL(rmdir(folder));
}
