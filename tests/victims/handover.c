// Notices harm to threads that hand work over to each other. Each thread scrambles its own memory,
// undoes that and compares. Between rounds it takes its turn at a table under a mutex, which must
// be as the previous thread left it. argv: [threads] [rounds, 0: until SIGTERM]
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { max_threads = 64, table_words = 512, own_words = 1 << 13 };

static volatile sig_atomic_t told_to_end;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static unsigned threads, rounds;
// Guarded by the mutex.
static uint64_t turns, table[table_words];
static int harmed, ending;

static void on_term(int signal) {
    (void)signal;
    told_to_end = 1;
}

static uint64_t word_after(uint64_t turn, size_t i) {
    return turn * 0x9e3779b97f4a7c15 + i * i;
}

static int own_work_fails(uint64_t* words, uint64_t key) {
    int wrong = 0;
    for (size_t i = 1; i < own_words; ++i) words[i] += words[i - 1] * (key | 1);
    for (size_t i = own_words - 1; i > 0; --i) words[i] -= words[i - 1] * (key | 1);
    for (size_t i = 0; i < own_words; ++i) wrong |= words[i] != i * key;
    return wrong;
}

// Waits for the thread's turn. Returns 0 if the program is to end.
static int take_turn(unsigned number) {
    pthread_mutex_lock(&mutex);
    while (turns % threads != number && !ending) pthread_cond_wait(&turned, &mutex);
    ending |= rounds ? turns / threads >= rounds : told_to_end;
    if (!ending) {
        for (size_t i = 0; i < table_words; ++i) harmed |= table[i] != word_after(turns, i);
        ++turns;
        for (size_t i = 0; i < table_words; ++i) table[i] = word_after(turns, i);
    }
    const int goes_on = !ending;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&mutex);
    return goes_on;
}

static void* run(void* argument) {
    const unsigned number = (unsigned)(uintptr_t)argument;
    uint64_t* words = malloc(own_words * sizeof *words);
    int wrong = words == NULL;
    for (uint64_t key = number + 1; !wrong && take_turn(number); ++key) {
        for (size_t i = 0; i < own_words; ++i) words[i] = i * key;
        wrong = own_work_fails(words, key);
    }
    pthread_mutex_lock(&mutex);
    harmed |= wrong;
    ending = 1;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&mutex);
    free(words);
    return NULL;
}

int main(int argc, char** argv) {
    pthread_t ids[max_threads];
    threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 8;
    rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 2000;
    if (threads < 1 || threads > max_threads) return 2;
    signal(SIGTERM, on_term);
    for (size_t i = 0; i < table_words; ++i) table[i] = word_after(0, i);
    for (unsigned i = 0; i < threads; ++i)
        if (pthread_create(&ids[i], NULL, run, (void*)(uintptr_t)i) != 0) return 2;
    for (unsigned i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
    printf("handover: %s, %" PRIu64 " turns\n", harmed ? "HARMED" : "unharmed", turns);
    return harmed;
}
