// A locked CMPXCHG to read-only memory faults even if it would store nothing.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

static sigjmp_buf back;
static volatile sig_atomic_t faults;

static void on_fault(int signal_number, siginfo_t* info, void* context) {
    (void)context;
    CHECK(signal_number == SIGSEGV && info->si_code == SEGV_ACCERR);
    ++faults;
    siglongjmp(back, 1);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    uint64_t* word = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK((void*)word != MAP_FAILED);
    for (volatile uint64_t round = 1; round <= 80; ++round) {
        uint64_t expected = round;
        spin(320000);
        if (sigsetjmp(back, 1) == 0) {
            __atomic_compare_exchange_n(word, &expected, 7, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
            CHECK(!"a fault");
        }
    }
    CHECK(faults == 80 && *word == 0);
    printf("ok\n");
}
