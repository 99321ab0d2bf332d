// Each request in an io_uring completes once, with the result of the equivalent call.
// diverges: the kernel writes to memory that it shares with it
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "check.h"

static char* map(int ring, size_t size, off_t what) {
    char* at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);
    CHECK(at != MAP_FAILED);
    return at;
}

int main(void) {
    struct io_uring_params setup = {0};
    const int ring = (int)syscall(SYS_io_uring_setup, 8, &setup);
    if (ring < 0) skip("no io_uring");
    char* submit = map(ring, setup.sq_off.array + setup.sq_entries * 4, IORING_OFF_SQ_RING);
    char* complete = map(ring, setup.cq_off.cqes + setup.cq_entries * sizeof(struct io_uring_cqe),
                         IORING_OFF_CQ_RING);
    struct io_uring_sqe* entries =
        (void*)map(ring, setup.sq_entries * sizeof *entries, IORING_OFF_SQES);
    atomic_uint* tail = (void*)(submit + setup.sq_off.tail);
    atomic_uint* head = (void*)(complete + setup.cq_off.head);
    const uint32_t mask = setup.sq_entries - 1;
    const int file = CALL(memfd_create("ring", 0));
    CALL(ftruncate(file, 4096));
    char text[32];
    for (uint32_t round = 0; round < 80; ++round) {
        struct io_uring_sqe* entry = &entries[round & mask];
        memset(entry, 0, sizeof *entry);
        entry->opcode = round % 2 ? IORING_OP_READ : IORING_OP_WRITE;
        entry->fd = file;
        entry->addr = (uintptr_t)text;
        entry->len = 8 + round % 8;
        entry->user_data = round * 3;
        ((uint32_t*)(void*)(submit + setup.sq_off.array))[round & mask] = round & mask;
        atomic_store(tail, round + 1);
        spin(50000);
        CHECK(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
        CHECK(atomic_load((atomic_uint*)(void*)(complete + setup.cq_off.tail)) == round + 1);
        const struct io_uring_cqe* result = (void*)(complete + setup.cq_off.cqes);
        result += round & (setup.cq_entries - 1);
        CHECK(result->user_data == round * 3 && result->res == (int)(8 + round % 8));
        atomic_store(head, round + 1);
    }
    puts("ok");
}
