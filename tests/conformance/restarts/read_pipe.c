// read of an empty pipe goes on behind handlers with SA_RESTART and behind stops.
#include "waiting.h"

static int ends[2];

static void wake(void) {
    CHECK(write(ends[1], "hello", 5) == 5);
}

static long enter(void) {
    char text[8];
    const long result = read(ends[0], text, sizeof text);
    CHECK(result < 0 || memcmp(text, "hello", 5) == 0);
    return result;
}

int main(void) {
    CALL(pipe(ends));
    check_waiting(&(struct waiting_call){enter, wake, .done = 5, .restarts = true});
}
