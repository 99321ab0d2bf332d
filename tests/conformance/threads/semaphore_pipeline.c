// Data that passes through a ring of semaphores arrives whole and in order.
#include <pthread.h>
#include <semaphore.h>

#include "check.h"

enum { slots = 4, items = 500 };

static sem_t free_slots, full_slots;
static volatile int ring[slots];

static void take(sem_t* semaphore) {
    while (sem_wait(semaphore) != 0) CHECK(errno == EINTR);
}

static void* produce(void* argument) {
    (void)argument;
    for (int item = 0; item < items; ++item) {
        take(&free_slots);
        ring[item % slots] = item * item;
        sem_post(&full_slots);
        spin(10000);
    }
    return NULL;
}

int main(void) {
    sem_init(&free_slots, 0, slots);
    sem_init(&full_slots, 0, 0);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, produce, NULL));
    for (int item = 0; item < items; ++item) {
        take(&full_slots);
        CHECK(ring[item % slots] == item * item);
        sem_post(&free_slots);
        spin(12000);
    }
    CHECK(!pthread_join(thread, NULL));
    puts("ok");
}
