// pause returns EINTR after a handler, whatever the handler's flags are, and only then.
#include "waiting.h"

static long enter(void) {
    const int before = handled;
    const long result = pause();
    CHECK(handled > before);
    return result;
}

int main(void) {
    check_waiting(&(struct waiting_call){.enter = enter});
}
