// msgsnd to a full queue waits for room through stops, and returns EINTR behind every handler.
#include <sys/msg.h>

#include "waiting.h"

struct message {
    long type;
    char text[1024];
};

static int queue;

static void make_queue(void) {
    queue = msgget(IPC_PRIVATE, 0600);
    if (queue < 0 && (errno == ENOSYS || errno == ENOSPC || errno == EPERM)) skip("no queues");
    CHECK(queue >= 0);
}

static struct message message = {.type = 1};

static void wake(void) {
    struct message taken;
    CHECK(msgrcv(queue, &taken, sizeof taken.text, 0, 0) == sizeof taken.text);
}

// The message fills the queue again.
static long enter(void) {
    return msgsnd(queue, &message, sizeof message.text, 0);
}

int main(void) {
    make_queue();
    while (msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT) == 0) {
    }
    CHECK(errno == EAGAIN);
    check_waiting(&(struct waiting_call){enter, wake, .done = 0});
    CALL(msgctl(queue, IPC_RMID, NULL));
}
