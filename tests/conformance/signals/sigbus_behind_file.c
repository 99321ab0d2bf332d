// Mapped memory behind a file's end raises SIGBUS until the file is long enough.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

enum { page_bytes = 4096 };

static sigjmp_buf back;
static volatile uintptr_t address;

static void on_fault(int signal_number, siginfo_t* info, void* context) {
    (void)context;
    CHECK(signal_number == SIGBUS && info->si_code == BUS_ADRERR);
    address = (uintptr_t)info->si_addr;
    siglongjmp(back, 1);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGBUS, &action, NULL));
    const int file = CALL(memfd_create("short", 0));
    char* memory = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(memory != MAP_FAILED);
    for (int round = 0; round < 60; ++round) {
        CALL(ftruncate(file, page_bytes));
        memory[100] = (char)round;
        spin(400000);
        volatile char* behind = memory + page_bytes + round;
        if (sigsetjmp(back, 1) == 0) {
            *behind = 1;
            CHECK(!"a fault");
        }
        CHECK(address == (uintptr_t)behind && memory[100] == (char)round);
        CALL(ftruncate(file, 2 * page_bytes));
        CHECK(*behind == 0);
        *behind = 1;
        CHECK(*behind == 1);
    }
    printf("ok\n");
}
