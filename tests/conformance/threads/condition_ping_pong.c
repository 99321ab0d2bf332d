// Two threads that take turns by a condition variable alternate strictly.
#include <pthread.h>

#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn, turns;

static void* body(void* argument) {
    const int own = *(int*)argument;
    for (int round = 0; round < 200; ++round) {
        pthread_mutex_lock(&mutex);
        while (turn != own) CHECK(!pthread_cond_wait(&changed, &mutex));
        CHECK(turns == 2 * round + own);
        ++turns;
        turn = !own;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
        spin(30000);
    }
    return NULL;
}

int main(void) {
    int numbers[2] = {0, 1};
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, body, &numbers[1]));
    body(&numbers[0]);
    CHECK(!pthread_join(thread, NULL));
    printf("%d turns\n", turns);
}
