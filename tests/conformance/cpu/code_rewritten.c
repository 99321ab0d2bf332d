// Code that is made writable, changed and made executable again executes in its newest version.
#include <sys/mman.h>

#include "check.h"

static uint8_t* map_code(int protection) {
    uint8_t* code = mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED && (errno == EACCES || errno == EPERM)) skip("no code may be made");
    CHECK(code != MAP_FAILED);
    return code;
}

// mov $value, %eax; ret
static void write_code(uint8_t* code, int value) {
    code[0] = 0xb8;
    memcpy(code + 1, &value, sizeof value);
    code[5] = 0xc3;
}

int main(void) {
    uint8_t* code = map_code(PROT_READ | PROT_WRITE);
    int (*function)(void) = (int (*)(void))(uintptr_t)code;
    for (int round = 0; round < 100; ++round) {
        CALL(mprotect(code, 4096, PROT_READ | PROT_WRITE));
        write_code(code, round);
        CALL(mprotect(code, 4096, PROT_READ | PROT_EXEC));
        for (int call = 0; call < 50; ++call) CHECK(function() == round);
        spin(320000);
    }
    printf("ok\n");
}
