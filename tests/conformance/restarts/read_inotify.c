// read of an inotify descriptor waits through stops and handlers with SA_RESTART.
#include <sys/inotify.h>

#include "waiting.h"

static int watcher, watched;

static void wake(void) {
    CHECK(pwrite(watched, "x", 1, 0) == 1);
}

static long enter(void) {
    struct inotify_event event = {0};
    const long result = read(watcher, &event, sizeof event);
    return result < 0 ? result : (long)event.mask;
}

int main(void) {
    char path[512];
    const char* folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/watched-XXXXXX", folder != NULL ? folder : "/tmp");
    watched = CALL(mkstemp(path));
    watcher = inotify_init1(0);
    if (watcher < 0 && errno == EMFILE) {
        unlink(path);
        skip("no inotify descriptors left");
    }
    CHECK(watcher >= 0);
    const int watch = inotify_add_watch(watcher, path, IN_MODIFY);
    unlink(path);
    if (watch < 0 && errno == ENOSPC) skip("no inotify watches left");
    CHECK(watch >= 0);
    check_waiting(&(struct waiting_call){enter, wake, .done = IN_MODIFY, .restarts = true});
}
