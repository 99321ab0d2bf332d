// Notices harm: every thread scrambles a buffer with invertible steps, in integer and in floating
// point registers, unscrambles it and compares. It fails if anybody else changes a register or byte
// meanwhile. argv: [threads] [rounds, 0: until SIGTERM] [MiB per thread]
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t told_to_end;

static void on_term(int signal) {
    (void)signal;
    told_to_end = 1;
}

struct job {
    uint64_t seed;
    unsigned rounds;
    size_t words;
    uint64_t digest;
    int harmed;
};

static uint64_t original_word(uint64_t seed, size_t i) {
    return (seed + i) * 0x9e3779b97f4a7c15;
}

// Changes the lower half of each word by its upper half. The function is its own inverse.
static void mix_halves(uint64_t* words, size_t count, uint64_t key) {
    for (size_t i = 0; i < count; ++i) words[i] ^= (uint32_t)(key + (words[i] >> 32));
}

static void scramble(uint64_t* words, size_t count, uint64_t key) {
    for (size_t i = 1; i < count; ++i) words[i] += words[i - 1] * (key | 1);
    mix_halves(words, count, key);
}

static void unscramble(uint64_t* words, size_t count, uint64_t key) {
    mix_halves(words, count, key);
    for (size_t i = count - 1; i > 0; --i) words[i] -= words[i - 1] * (key | 1);
}

// Whole numbers below 2^53 are exact in a double, so the sum must equal the integer sum.
static int floating_sum_differs(const uint64_t* words, size_t count) {
    double lanes[4] = {0, 0, 0, 0};
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
        lanes[i % 4] += (double)(words[i] & 0xffffff);
        sum += words[i] & 0xffffff;
    }
    return lanes[0] + lanes[1] + lanes[2] + lanes[3] != (double)sum;
}

static void* run(void* argument) {
    struct job* job = argument;
    uint64_t* words = malloc(job->words * sizeof *words);
    if (words == NULL) return job->harmed = 1, NULL;
    for (size_t i = 0; i < job->words; ++i) words[i] = original_word(job->seed, i);
    for (unsigned round = 0; job->rounds ? round < job->rounds : !told_to_end; ++round) {
        const uint64_t key = (uint64_t)round * 2654435761u & 0xffffffff;
        scramble(words, job->words, key);
        job->digest = job->digest * 31 + words[job->words - 1];
        job->harmed |= floating_sum_differs(words, job->words);
        unscramble(words, job->words, key);
    }
    for (size_t i = 0; i < job->words; ++i) job->harmed |= words[i] != original_word(job->seed, i);
    free(words);
    return NULL;
}

int main(int argc, char** argv) {
    const size_t threads = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    const unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 500;
    const size_t mib = argc > 3 ? strtoul(argv[3], NULL, 0) : 4;
    struct job jobs[64] = {0};
    pthread_t ids[64];
    if (rounds == 0) signal(SIGTERM, on_term);
    if (threads < 1 || threads > 64 || mib < 1) return 2;
    for (size_t i = 0; i < threads; ++i) {
        jobs[i] = (struct job){.seed = i + 1, .rounds = rounds, .words = mib << 17};
        if (pthread_create(&ids[i], NULL, run, &jobs[i]) != 0) return 2;
    }
    int harmed = 0;
    uint64_t digest = 0;
    for (size_t i = 0; i < threads; ++i) {
        pthread_join(ids[i], NULL);
        harmed |= jobs[i].harmed;
        digest ^= jobs[i].digest;
    }
    printf("checksum: %s %016" PRIx64 "\n", harmed ? "HARMED" : "unharmed", digest);
    return harmed;
}
