// msgrcv waits for a message through stops, and returns EINTR behind every handler.
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

static void wake(void) {
    const struct message message = {.type = 3, .text = "hello"};
    CALL(msgsnd(queue, &message, 6, 0));
}

static long enter(void) {
    struct message message;
    const long result = msgrcv(queue, &message, sizeof message.text, 0, 0);
    CHECK(result < 0 || (message.type == 3 && strcmp(message.text, "hello") == 0));
    return result;
}

int main(void) {
    make_queue();
    check_waiting(&(struct waiting_call){enter, wake, .done = 6});
    CALL(msgctl(queue, IPC_RMID, NULL));
}
