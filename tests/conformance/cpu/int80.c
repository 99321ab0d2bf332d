// System calls by int 0x80 have the numbers and the registers of 32-bit programs.
// known-fault: exact,family,verify: what int 0x80 calls is not followed
#include <setjmp.h>
#include <signal.h>

#include "check.h"

static sigjmp_buf back;

static void on_fault(int signal_number) {
    (void)signal_number;
    siglongjmp(back, 1);
}

static long call_32(long number, long argument) {
    __asm__ volatile("int $0x80" : "+a"(number) : "b"(argument) : "memory");
    return number;
}

int main(void) {
    enum { close_32 = 6, getpid_32 = 20, getpgid_32 = 132 };
    CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
    if (sigsetjmp(back, 1) != 0) skip("the kernel has no 32-bit system calls");
    const long first = call_32(getpid_32, 0);
    if (first == -ENOSYS) skip("the kernel has no 32-bit system calls");
    CHECK(first == getpid());
    for (int round = 0; round < 100; ++round) {
        spin(320000);
        CHECK(call_32(getpid_32, 0) == getpid());
        CHECK(call_32(close_32, 9999) == -EBADF);
        CHECK(call_32(getpgid_32, 0) == getpgid(0));
    }
    printf("ok\n");
}
