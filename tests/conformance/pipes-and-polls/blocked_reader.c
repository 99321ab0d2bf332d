// A reader that sleeps in read(2) wakes when bytes come and not before, whatever stops around it.
#include <pthread.h>

#include "check.h"

static int ends[2];

static void* reads(void* argument) {
    for (int round = 0; round < 80; ++round) {
        char text[16];
        CHECK(read(ends[0], text, sizeof text) == 3);
        CHECK(text[0] == (char)round && text[2] == 'z');
        CHECK(write(*(int*)argument, "a", 1) == 1);
    }
    return NULL;
}

int main(void) {
    int answers[2];
    CALL(pipe(ends));
    CALL(pipe(answers));
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, reads, &answers[1]));
    for (int round = 0; round < 80; ++round) {
        spin(100000);
        const char text[3] = {(char)round, 'y', 'z'};
        CHECK(write(ends[1], text, 3) == 3);
        char answer;
        CHECK(read(answers[0], &answer, 1) == 1);
    }
    CHECK(!pthread_join(thread, NULL));
    puts("ok");
}
