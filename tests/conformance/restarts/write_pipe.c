// write to a full pipe goes on behind handlers with SA_RESTART and behind stops.
#include "waiting.h"

enum { page_bytes = 4096 };

static int ends[2];
static char page[page_bytes];

static void wake(void) {
    char taken[page_bytes];
    CHECK(read(ends[0], taken, sizeof taken) == sizeof taken);
}

// The page fills the pipe again.
static long enter(void) {
    return write(ends[1], page, sizeof page);
}

int main(void) {
    CALL(pipe(ends));
    CALL(fcntl(ends[1], F_SETFL, O_NONBLOCK));
    while (enter() == page_bytes) {
    }
    CHECK(errno == EAGAIN);
    CALL(fcntl(ends[1], F_SETFL, 0));
    check_waiting(&(struct waiting_call){enter, wake, .done = page_bytes, .restarts = true});
}
