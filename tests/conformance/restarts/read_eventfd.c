// read of an eventfd that is 0 goes on behind handlers with SA_RESTART and behind stops.
#include <sys/eventfd.h>

#include "waiting.h"

static int event;

static void wake(void) {
    CALL(eventfd_write(event, 7));
}

static long enter(void) {
    eventfd_t value = 0;
    if (eventfd_read(event, &value) < 0) return -1;
    return (long)value;
}

int main(void) {
    event = CALL(eventfd(0, 0));
    check_waiting(&(struct waiting_call){enter, wake, .done = 7, .restarts = true});
}
