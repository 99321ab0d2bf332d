// userfaultfd: another thread fills a missing page, and the access continues with its content.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "check.h"

static int descriptor;

static void* fills(void* argument) {
    const int rounds = *(int*)argument;
    static _Alignas(4096) char page[4096];
    for (int round = 0; round < rounds; ++round) {
        struct uffd_msg message;
        CHECK(read(descriptor, &message, sizeof message) == sizeof message);
        CHECK(message.event == UFFD_EVENT_PAGEFAULT);
        memset(page, 'a' + round % 26, sizeof page);
        struct uffdio_copy copy = {.dst = message.arg.pagefault.address & ~(uint64_t)4095,
                                   .src = (uintptr_t)page,
                                   .len = 4096};
        CALL(ioctl(descriptor, UFFDIO_COPY, &copy));
    }
    return NULL;
}

int main(void) {
    descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (descriptor < 0) skip("userfaultfd is refused");
    struct uffdio_api api = {.api = UFFD_API};
    CALL(ioctl(descriptor, UFFDIO_API, &api));
    volatile char* page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    struct uffdio_register range = {.range = {(uintptr_t)page, 4096},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    CALL(ioctl(descriptor, UFFDIO_REGISTER, &range));
    int rounds = 60;
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, fills, &rounds));
    for (int round = 0; round < rounds; ++round) {
        spin(40000);
        CHECK(page[100] == 'a' + round % 26);
        CALL(madvise((char*)page, 4096, MADV_DONTNEED));
    }
    CHECK(!pthread_join(thread, NULL));
    puts("ok");
}
