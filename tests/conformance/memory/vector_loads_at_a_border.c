// Vector loads across two pages work where both are mapped, and fault where the second one is not.
#include <emmintrin.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

static sigjmp_buf back;
static char* volatile fault;

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    fault = info->si_addr;
    siglongjmp(back, 1);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    char* area = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    CALL(munmap(area + 2 * 4096, 4096));
    for (int i = 0; i < 8192; ++i) area[i] = (char)(i * 7);
    for (volatile int round = 0; round < 60; ++round) {
        const int offset = round % 15 + 1;
        const __m128i middle = _mm_loadu_si128((const __m128i*)(const void*)(area + 4096 - offset));
        char bytes[16];
        _mm_storeu_si128((__m128i*)(void*)bytes, middle);
        CHECK(memcmp(bytes, area + 4096 - offset, 16) == 0);
        fault = NULL;
        if (sigsetjmp(back, 1) == 0) {
            _mm_storeu_si128((__m128i*)(void*)bytes,
                             _mm_loadu_si128((const __m128i*)(const void*)(area + 8192 - offset)));
            __asm__ volatile("" : : "r"(bytes) : "memory");
            CHECK(!"no fault");
        }
        CHECK(fault >= area + 8192 - offset && fault <= area + 8192 + 15);
        spin(200000);
    }
    puts("ok");
}
