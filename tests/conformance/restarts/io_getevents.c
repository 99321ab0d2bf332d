// io_getevents lasts for its whole time-out, and returns EINTR only behind handlers and stops.
#include <linux/aio_abi.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "waiting.h"

static int event;
static aio_context_t context;

static void submit(void) {
    struct iocb poll_it = {.aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = (uint32_t)event};
    struct iocb* list = &poll_it;
    poll_it.aio_buf = POLLIN;
    const long submitted = syscall(SYS_io_submit, context, 1, &list);
    if (submitted < 0 && errno == EINVAL) skip("no IOCB_CMD_POLL");
    CHECK(submitted == 1);
}

static void wake(void) {
    CALL(eventfd_write(event, 1));
}

static long wait_for(struct timespec timeout) {
    struct io_event done;
    return syscall(SYS_io_getevents, context, 1, 1, &done, &timeout);
}

static long enter(void) {
    const long result = wait_for((struct timespec){.tv_sec = 300});
    if (result != 1) return result;
    eventfd_t value;
    CALL(eventfd_read(event, &value));
    submit();
    return 1;
}

int main(void) {
    event = CALL(eventfd(0, 0));
    if (syscall(SYS_io_setup, 4, &context) < 0) skip("no asynchronous input and output");
    submit();
    for (int round = 0; round < 20; ++round) {
        spin(50000);
        CHECK(wait_for((struct timespec){.tv_nsec = millisecond_ns}) == 0);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 1});
    CALL(syscall(SYS_io_destroy, context));
}
