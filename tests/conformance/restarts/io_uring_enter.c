// io_uring_enter waits for a completion, and returns EINTR only behind handlers and stops.
// diverges: the kernel writes to memory that it shares with it
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "waiting.h"

static int event, ring;
static struct io_uring_params parameters;
static char *submissions, *completions;
static struct io_uring_sqe* entries;

static void* map_ring(size_t size, off_t offset) {
    void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, offset);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void make_ring(void) {
    ring = (int)syscall(SYS_io_uring_setup, 4, &parameters);
    if (ring < 0) skip("no io_uring");
    const size_t entry_bytes = sizeof(struct io_uring_cqe);
    submissions = map_ring(parameters.sq_off.array + parameters.sq_entries * sizeof(uint32_t),
                           IORING_OFF_SQ_RING);
    completions =
        map_ring(parameters.cq_off.cqes + parameters.cq_entries * entry_bytes, IORING_OFF_CQ_RING);
    entries = map_ring(parameters.sq_entries * sizeof *entries, IORING_OFF_SQES);
}

static uint32_t* of(char* area, uint32_t offset) {
    return (uint32_t*)(area + offset);
}

// Requests a completion for when the event is no longer 0.
static void submit(void) {
    uint32_t* tail = of(submissions, parameters.sq_off.tail);
    const uint32_t slot = *tail % parameters.sq_entries;
    entries[slot] =
        (struct io_uring_sqe){.opcode = IORING_OP_POLL_ADD, .fd = event, .poll_events = POLLIN};
    of(submissions, parameters.sq_off.array)[slot] = slot;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    CHECK(syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) == 1);
}

static void wake(void) {
    CALL(eventfd_write(event, 1));
}

static long enter(void) {
    const long result = syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    uint32_t* head = of(completions, parameters.cq_off.head);
    const uint32_t tail =
        __atomic_load_n(of(completions, parameters.cq_off.tail), __ATOMIC_ACQUIRE);
    CHECK((tail != *head) == (result == 0));
    if (result != 0) return result;
    __atomic_store_n(head, tail, __ATOMIC_RELEASE);
    eventfd_t value;
    CALL(eventfd_read(event, &value));
    submit();
    return 0;
}

int main(void) {
    event = CALL(eventfd(0, 0));
    make_ring();
    submit();
    check_waiting(&(struct waiting_call){enter, wake, .done = 0});
}
