// mq_timedreceive waits until its deadline, through stops and handlers with SA_RESTART.
#include <mqueue.h>

#include "waiting.h"

static mqd_t queue;

static void wake(void) {
    CALL(mq_send(queue, "hello", 5, 3));
}

static long receive_until(struct timespec then) {
    char text[64];
    unsigned priority = 0;
    const long result = mq_timedreceive(queue, text, sizeof text, &priority, &then);
    CHECK(result < 0 || (priority == 3 && memcmp(text, "hello", 5) == 0));
    return result;
}

static long enter(void) {
    return receive_until(after(CLOCK_REALTIME, (int64_t)300 * second_ns));
}

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "/conformance-%d", getpid());
    struct mq_attr shape = {.mq_maxmsg = 4, .mq_msgsize = 64};
    queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &shape);
    if (queue < 0) skip("no message queues");
    CALL(mq_unlink(name));
    for (int round = 0; round < 20; ++round) {
        spin(50000);
        CHECK(receive_until(after(CLOCK_REALTIME, millisecond_ns)) == -1 && errno == ETIMEDOUT);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 5, .restarts = true});
}
