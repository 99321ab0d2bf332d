// A page whose key denies access faults with SEGV_PKUERR, and opens without a system call.
// known-fault: exact,family,verify: memory with protection keys is not followed
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

static sigjmp_buf back;
static volatile int code;

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    code = info->si_code;
    siglongjmp(back, 1);
}

int main(void) {
    const int key = pkey_alloc(0, 0);
    if (key < 0) skip("no protection keys");
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    volatile char* page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    CALL(pkey_mprotect((char*)page, 4096, PROT_READ | PROT_WRITE, key));
    for (int round = 0; round < 60; ++round) {
        CHECK(!pkey_set(key, PKEY_DISABLE_WRITE));
        code = 0;
        if (sigsetjmp(back, 1) == 0) {
            *page = 1;
            CHECK(!"no fault");
        }
        CHECK(code == SEGV_PKUERR);
        spin(40000);
        CHECK(!pkey_set(key, 0));
        *page = (char)round;
        CHECK(*page == round);
    }
    puts("ok");
}
