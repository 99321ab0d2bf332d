// The robust list that a thread has set stays set, and the mutexes in it stay locked.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "check.h"

struct robust_list_head;

int main(void) {
    pthread_mutexattr_t attributes;
    CHECK(!pthread_mutexattr_init(&attributes));
    CHECK(!pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
    CHECK(!pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
    pthread_mutex_t* mutex =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(mutex != MAP_FAILED);
    CHECK(!pthread_mutex_init(mutex, &attributes));
    struct robust_list_head *first = NULL, *now = NULL;
    size_t length = 0;
    CALL(syscall(SYS_get_robust_list, 0, &first, &length));
    CHECK(first);
    for (int round = 0; round < 150; ++round) {
        CHECK(!pthread_mutex_lock(mutex));
        const int word = *(volatile int*)mutex;
        CHECK(word == (int)syscall(SYS_gettid));
        spin(100000);
        CHECK(*(volatile int*)mutex == word);
        CALL(syscall(SYS_get_robust_list, 0, &now, &length));
        CHECK(now == first);
        CHECK(!pthread_mutex_unlock(mutex));
    }
    puts("ok");
}
