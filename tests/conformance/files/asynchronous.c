// Requests of io_submit complete with their own data, in any order.
#include <linux/aio_abi.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "check.h"

int main(void) {
    aio_context_t context = 0;
    if (syscall(SYS_io_setup, 8, &context) != 0) skip("no io_setup");
    const int file = CALL(memfd_create("async", 0));
    for (int round = 0; round < 60; ++round) {
        char text[4][64], got[4][64];
        struct iocb blocks[8], *list[8];
        memset(blocks, 0, sizeof blocks);
        for (int i = 0; i < 8; ++i) {
            blocks[i].aio_fildes = (uint32_t)file;
            blocks[i].aio_lio_opcode = i < 4 ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
            blocks[i].aio_buf = (uintptr_t)(i < 4 ? text[i] : got[i - 4]);
            blocks[i].aio_nbytes = 64;
            blocks[i].aio_offset = i % 4 * 64;
            blocks[i].aio_data = (uint64_t)i;
            list[i] = &blocks[i];
            if (i < 4) memset(text[i], round + i, 64);
        }
        for (int half = 0; half < 2; ++half) {
            CHECK(syscall(SYS_io_submit, context, 4, list + half * 4) == 4);
            spin(30000);
            struct io_event events[4];
            CHECK(syscall(SYS_io_getevents, context, 4, 4, events, NULL) == 4);
            int seen = 0;
            for (int i = 0; i < 4; ++i) {
                CHECK(events[i].res == 64);
                seen |= 1 << (events[i].data - (uint64_t)half * 4);
            }
            CHECK(seen == 15);
        }
        CHECK(memcmp(text, got, sizeof text) == 0);
    }
    CALL(syscall(SYS_io_destroy, context));
    puts("ok");
}
