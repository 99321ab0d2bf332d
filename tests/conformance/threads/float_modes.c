// Rounding modes of each thread are its own, inherited from its maker, and kept at every switch.
// flags: -lm
#include <fenv.h>
#include <pthread.h>

#include "check.h"

static void* body(void* argument) {
    const int own = *(int*)argument;
    CHECK(fegetround() == FE_UPWARD);
    CHECK(!fesetround(own));
    volatile double one = 1, ten = 10, third = 3;
    const double quotient = one / ten;
    const double other = -(one / third);
    for (int round = 0; round < 150; ++round) {
        spin(20000);
        CHECK(fegetround() == own);
        CHECK(one / ten == quotient && -(one / third) == other);
    }
    return NULL;
}

int main(void) {
    CHECK(!fesetround(FE_UPWARD));
    int modes[4] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) CHECK(!pthread_create(&threads[i], NULL, body, &modes[i]));
    for (int i = 0; i < 4; ++i) CHECK(!pthread_join(threads[i], NULL));
    CHECK(fegetround() == FE_UPWARD);
    puts("ok");
}
