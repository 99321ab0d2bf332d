// A program with an executable stack runs code there (trampolines of nested functions).
// flags: -Wl,-z,execstack -Wno-trampolines
#include "check.h"

__attribute__((noinline)) static int apply(int (*volatile function)(int), int value) {
    return function(value);
}

int main(void) {
    for (int round = 0; round < 80; ++round) {
        int calls = 0;
        int add(int value) {
            ++calls;
            return value + round;
        }
        for (int i = 0; i < 200; ++i) CHECK(apply(add, i) == i + round);
        CHECK(calls == 200);
        spin(50000);
    }
    puts("ok");
}
