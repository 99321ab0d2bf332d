// Behind the page of a file's end a mapping gives SIGBUS; on that page it reads zeros.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

static sigjmp_buf back;
static volatile siginfo_t last;

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    last = *info;
    siglongjmp(back, 1);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGBUS, &action, NULL));
    const int file = CALL(memfd_create("short", 0));
    CHECK(write(file, "end", 3) == 3);
    volatile char* area = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    volatile char* own = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    CHECK(area != MAP_FAILED && own != MAP_FAILED);
    for (int round = 0; round < 60; ++round) {
        volatile char* where = (round % 2 ? area : own) + 4096 + round;
        CHECK(area[2] == 'd' && area[3] == 0 && own[4095] == 0);
        if (sigsetjmp(back, 1) == 0) {
            if (round % 3)
                CHECK(*where == 77);
            else
                *where = 1;
            CHECK(!"no fault");
        }
        CHECK(last.si_signo == SIGBUS && last.si_code == BUS_ADRERR && last.si_addr == where);
        spin(60000);
    }
    puts("ok");
}
