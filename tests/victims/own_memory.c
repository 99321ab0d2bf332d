// A program that changes its own memory by system calls, which argv[1] names. The output is the
// same in every run.
//   parts       calls whose lengths are no multiple of a page
//   failing     calls that would empty memory, and fail
//   halfway     calls that fail when they have done a part of their work
//   guards      marks pages as guards, and touches them
//   dispatch    has its own system calls sent to itself, as a byte of its memory says
//   stack       raises its limit of the stack, and uses more than the usual one
//   undumpable  makes itself undumpable, and uses memory that it gets then
//   exec FILE   executes a file
//   exit        ends while another thread sleeps and memory is shared; exit-other: the other way
//               round; exit-kill: kills itself; exit-call: a signal kills it in such a call
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "parent.h"

enum { page = 4096 };

// Memory of so many pages, in which each byte is 1.
static char* ones(size_t pages) {
    char* at = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(at != MAP_FAILED, "mmap");
    memset(at, 1, pages * page);
    return at;
}

static int sum(const char* at, size_t bytes) {
    int result = 0;
    for (size_t i = 0; i < bytes; ++i) result += at[i];
    return result;
}

static void on_parts(void) {
    char* at = ones(2);
    printf("mprotect %d", mprotect(at, 5000, PROT_READ));
    printf(" %d\n", sum(at, 2 * page));

    at = mremap(ones(2), 5000, 1 << 20, MREMAP_MAYMOVE);
    printf("mremap %d\n", sum(at, 2 * page));

    at = ones(2);
    char* to = ones(2);
    require(mremap(at, 5000, 5000, MREMAP_MAYMOVE | MREMAP_FIXED | 4, to) == to, "mremap");
    printf("mremap that leaves the old range %d %d\n", sum(at, 2 * page), sum(to, 2 * page));

    at = ones(2);
    printf("madvise %d", madvise(at, 5000, MADV_DONTNEED));
    printf(" %d\n", sum(at, 2 * page));

    at = ones(3);
    to = mmap(at, 5000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    printf("mmap %d %d\n", to == at, sum(at, 3 * page));

    at = ones(1);
    memcpy(at, "\xb8\x2a\0\0\0\xc3", 6);  // mov $42, %eax; ret
    require(mprotect(at, 1, PROT_READ | PROT_EXEC) == 0, "mprotect");
    printf("code %d\n", ((int (*)(void))(void*)at)());
}

static void tell(const char* what, long result, const char* at) {
    const int error = errno;
    printf("%s: %ld, errno %d, sum %d\n", what, result, error, sum(at, 3 * page));
}

static void on_failing(void) {
    const int shared = MAP_FIXED | MAP_PRIVATE;
    char* at = ones(3);
    tell("madvise, not aligned", madvise(at + 1, 2 * page, MADV_DONTNEED), at);
    at = ones(3);
    require(mlock(at, 3 * page) == 0, "mlock");
    tell("madvise of locked memory", madvise(at, 3 * page, MADV_DONTNEED), at);
    at = ones(3);
    tell("madvise with a bad length", madvise(at, (size_t)-page, MADV_DONTNEED), at);
    at = ones(3);
    tell("munmap, not aligned", munmap(at + 1, 2 * page), at);
    at = ones(3);
    tell("mmap of a bad descriptor", (long)mmap(at, 3 * page, PROT_READ, shared, 99, 0), at);
    at = ones(3);
    tell("mmap with a bad offset",
         syscall(SYS_mmap, at, 3 * page, PROT_READ, shared | MAP_ANONYMOUS, -1, 5), at);
    at = ones(3);
    tell("mremap to itself",
         (long)mremap(at, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, at + page), at);
    at = ones(3);
    tell("mprotect with a bad protection", mprotect(at, 3 * page, 1 << 20), at);
    // A range of nearly all addresses.
    void* const low = (void*)0x100000000000;
    at = mmap(low, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(at != MAP_FAILED, "mmap");
    memset(at, 1, 3 * page);
    tell("madvise of nearly all addresses", madvise(at, (size_t)-page, MADV_NORMAL), at);
}

// A pipe with some bytes, each of which is 2.
static int twos(size_t bytes) {
    int ends[2];
    char text[64];
    memset(text, 2, sizeof text);
    require(pipe(ends) == 0 && write(ends[1], text, bytes) == (ssize_t)bytes, "pipe");
    return ends[0];
}

static void tell_half(const char* what, long result, int total) {
    const int error = errno;
    printf("%s: %ld, errno %d, sum %d\n", what, result, error, total);
}

// Memory of three pages, of which the middle one is missing.
static char* with_hole(void) {
    char* at = ones(3);
    require(munmap(at + page, page) == 0, "munmap");
    return at;
}
static int around_hole(const char* at) {
    return sum(at, page) + sum(at + 2 * page, page);
}

static void on_halfway(void) {
    char* at = with_hole();
    long result = madvise(at, 3 * page, MADV_DONTNEED);
    tell_half("madvise across a hole", result, around_hole(at));

    at = with_hole();
    result = mprotect(at, 3 * page, PROT_READ);
    tell_half("mprotect across a hole", result, around_hole(at));

    at = ones(2);
    require(mlock(at + page, page) == 0, "mlock");
    result = madvise(at, 2 * page, MADV_DONTNEED);
    tell_half("madvise up to locked memory", result, sum(at, 2 * page));

    at = with_hole();
    result = read(twos(50), at + page - 20, 50);
    tell_half("read of a pipe up to a hole", result, sum(at, page));
    result = syscall(SYS_fstat, twos(50), at + page - 16);
    tell_half("fstat up to a hole", result, sum(at, page - 16));
    printf("a device's number was written: %d\n", at[page - 1] != 1);

    // What was written to a private page of a file goes with the file's end.
    const int file = memfd_create("truncated", 0);
    require(ftruncate(file, page) == 0, "ftruncate");
    at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    require(at != MAP_FAILED, "mmap");
    at[0] = 1;
    require(ftruncate(file, 0) == 0, "ftruncate");
    result = write(file, at, 1);
    tell_half("write of a page that was truncated", result, 0);

    // Memory that was made read-only is emptied all the same.
    at = ones(2);
    require(mprotect(at, 2 * page, PROT_READ) == 0, "mprotect");
    printf("before process_madvise %d\n", sum(at, 2 * page));
    const int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    const struct iovec range = {at, 2 * page};
    const long emptied = syscall(SYS_process_madvise, self, &range, 1, MADV_DONTNEED, 0);
    printf("process_madvise %d\n", sum(at, 2 * page) == (emptied == 2 * page ? 0 : 2 * page));

    // The stack as far as it was used is there.
    char room[40 * page];
    memset(room, 1, sizeof room);
    char* first = room + (-(uintptr_t)room & (page - 1));
    printf("mlock of the stack %d, msync of it %d\n", mlock(first, 9 * page),
           msync(first, 9 * page, MS_ASYNC));
}

static int use_stack(int frames) {
    volatile char room[page];
    room[0] = (char)frames;
    return frames == 0 ? 0 : use_stack(frames - 1) + room[0] * 0;
}

static __attribute__((noinline)) void write_from_stack(void) {
    char room[9 << 20];
    memset(room, 0, sizeof room);
    printf("9 MiB at once: %zd\n", write(open("/dev/null", O_WRONLY), room, sizeof room));
}

static void on_stack(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    const rlim_t wanted = 32u << 20;
    if (limit.rlim_max < wanted) exit(77);
    limit.rlim_cur = wanted;
    require(setrlimit(RLIMIT_STACK, &limit) == 0, "setrlimit");
    printf("10 MiB of stack: %d\n", use_stack(2500));
    write_from_stack();
}

static void on_undumpable(void) {
    require(prctl(PR_SET_DUMPABLE, 0) == 0, "prctl");
    const char* at = ones(2);
    printf("undumpable %d, %d\n", prctl(PR_GET_DUMPABLE), sum(at, 2 * page));
    require(prctl(PR_SET_DUMPABLE, 1) == 0, "prctl");
    printf("again %d\n", prctl(PR_GET_DUMPABLE));
}

static void* sleep_for_ever(void* unused) {
    for (;;) pause();
    return unused;
}

static void* end_program(void* unused) {
    usleep(10000);
    puts("ends");
    exit(0);
    return unused;
}

// Waits in a call of which little is known, until SIGALRM kills the program.
static void wait_for_alarm(void) {
    unsigned long context = 0;
    char event[32];
    require(syscall(SYS_io_setup, 1, &context) == 0, "io_setup");
    const struct itimerval once = {{0, 0}, {0, 50000}};
    setitimer(ITIMER_REAL, &once, NULL);
    syscall(SYS_io_getevents, context, 1, 1, event, NULL);
}

static void on_exit_of(const char* kind) {
    void* shared = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(shared != MAP_FAILED, "mmap");
    pthread_t thread;
    void* (*other)(void*) = strcmp(kind, "exit-other") == 0 ? end_program : sleep_for_ever;
    require(pthread_create(&thread, NULL, other, NULL) == 0, "pthread_create");
    if (strcmp(kind, "exit-other") == 0) sleep_for_ever(NULL);
    usleep(10000);
    puts("ends");
    fflush(stdout);
    if (strcmp(kind, "exit-kill") == 0) kill(getpid(), SIGKILL);
    if (strcmp(kind, "exit-call") == 0) wait_for_alarm();
}

static sigjmp_buf behind_fault;

static void on_fault(int number) {
    siglongjmp(behind_fault, number);
}

static void touch(const char* what, volatile char* at) {
    if (sigsetjmp(behind_fault, 1) == 0)
        printf("%s: %d\n", what, (*at)++);
    else
        printf("%s: fault\n", what);
}

static void on_guards(void) {
    enum { guard_install = 102, guard_remove = 103, pages = 8, lacking = 77 };
    signal(SIGSEGV, on_fault);
    char* at = ones(pages);
    if (madvise(at + page, page, guard_install) != 0) exit(lacking);
    touch("guard", at + page);
    touch("before it", at);
    printf("mprotect %d\n", mprotect(at, 3 * page, PROT_READ | PROT_WRITE));
    touch("guard", at + page + 1);
    printf("remove %d\n", madvise(at, 3 * page, guard_remove));
    touch("no guard", at + page);
    require(madvise(at + 4 * page, page, guard_install) == 0, "madvise");
    printf("madvise %d\n", madvise(at + 3 * page, 3 * page, MADV_DONTNEED));
    touch("guard", at + 4 * page);
    touch("behind it", at + 5 * page);
    printf("munmap %d\n", munmap(at, pages * page));
}

static volatile char selects_dispatch;

static void on_dispatched(int number, siginfo_t* info, void* context) {
    selects_dispatch = 0;
    ucontext_t* interrupted = context;
    interrupted->uc_mcontext.gregs[REG_RAX] = 7;
    printf("%d %d\n", number, info->si_syscall);
}

static void on_dispatch(void) {
    enum { set_dispatch = 59, lacking = 77 };
    const struct sigaction action = {.sa_sigaction = on_dispatched, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
    if (prctl(set_dispatch, 1, 0, 0, &selects_dispatch) != 0) exit(lacking);
    selects_dispatch = 1;
    long result = syscall(SYS_getuid);
    printf("getuid %ld\n", result);
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "parts") == 0) on_parts();
    if (strcmp(what, "failing") == 0) on_failing();
    if (strcmp(what, "halfway") == 0) on_halfway();
    if (strcmp(what, "guards") == 0) on_guards();
    if (strcmp(what, "dispatch") == 0) on_dispatch();
    if (strcmp(what, "stack") == 0) on_stack();
    if (strcmp(what, "undumpable") == 0) on_undumpable();
    if (strcmp(what, "exec") == 0 && argc > 2) execl(argv[2], argv[2], "nothing", NULL);
    if (strncmp(what, "exit", 4) == 0) on_exit_of(what);
    return 0;
}
