// splice from an empty pipe goes on behind handlers with SA_RESTART and behind stops.
#include "waiting.h"

static int from[2], to[2];

static void wake(void) {
    CHECK(write(from[1], "hello", 5) == 5);
}

static long enter(void) {
    const long result = splice(from[0], NULL, to[1], NULL, 5, 0);
    char text[8];
    CHECK(result < 0 || (read(to[0], text, sizeof text) == 5 && memcmp(text, "hello", 5) == 0));
    return result;
}

int main(void) {
    CALL(pipe(from));
    CALL(pipe(to));
    check_waiting(&(struct waiting_call){enter, wake, .done = 5, .restarts = true});
}
