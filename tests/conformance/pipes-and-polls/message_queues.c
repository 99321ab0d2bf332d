// Messages of System V and POSIX queues arrive by type and by priority.
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#include "check.h"

struct message {
    long type;
    int value;
};

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "/conformance-%d", getpid());
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 16};
    const mqd_t queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR | O_NONBLOCK, 0600, &attributes);
    if (queue == (mqd_t)-1) skip("no POSIX queues");
    CALL(mq_unlink(name));
    const int id = msgget(IPC_PRIVATE, 0600);
    if (id < 0) skip("no System V queues");
    for (int round = 0; round < 60; ++round) {
        for (int i = 1; i <= 3; ++i) {
            const struct message one = {i, round * i};
            CALL(msgsnd(id, &one, sizeof one.value, 0));
            CALL(mq_send(queue, (const char*)&i, sizeof i, (unsigned)i));
        }
        spin(60000);
        for (int i = 3; i >= 1; --i) {
            struct message got;
            CHECK(msgrcv(id, &got, sizeof got.value, i, 0) == sizeof got.value &&
                  got.value == round * i);
            union {
                char bytes[16];
                int value;
            } text;
            unsigned priority;
            CHECK(mq_receive(queue, text.bytes, sizeof text, &priority) == sizeof(int));
            CHECK(text.value == i && priority == (unsigned)i);
        }
        struct message none;
        CHECK(msgrcv(id, &none, sizeof none.value, 0, IPC_NOWAIT) == -1 && errno == ENOMSG);
    }
    CALL(msgctl(id, IPC_RMID, NULL));
    puts("ok");
}
