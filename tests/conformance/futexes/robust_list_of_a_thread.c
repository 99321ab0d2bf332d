// At a thread's end the kernel walks its robust list, and marks only the words that it owns.
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "check.h"

struct lock {
    struct robust_list list;
    int word;
};

static struct lock owned, foreign;
static struct robust_list_head head;

static void* body(void* argument) {
    (void)argument;
    head.list.next = &owned.list;
    owned.list.next = &foreign.list;
    foreign.list.next = &head.list;
    head.futex_offset = offsetof(struct lock, word) - offsetof(struct lock, list);
    head.list_op_pending = NULL;
    owned.word = (int)syscall(SYS_gettid);
    foreign.word = 12345678 & FUTEX_TID_MASK;
    CALL(syscall(SYS_set_robust_list, &head, sizeof head));
    spin(50000);
    struct robust_list_head* now = NULL;
    size_t length = 0;
    CALL(syscall(SYS_get_robust_list, 0, &now, &length));
    CHECK(now == &head && length == sizeof head);
    CHECK(owned.word == (int)syscall(SYS_gettid));
    syscall(SYS_exit, 0);
    return NULL;
}

int main(void) {
    for (int round = 0; round < 50; ++round) {
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, body, NULL));
        CHECK(!pthread_join(thread, NULL));
        CHECK(owned.word == FUTEX_OWNER_DIED);
        CHECK(foreign.word == (12345678 & FUTEX_TID_MASK));
        spin(50000);
    }
    puts("ok");
}
