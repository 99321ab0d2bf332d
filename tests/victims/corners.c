// Does what few programs do, and checks that the effect is the native one. argv: KIND [times]
//   low         memory below all mappings that existed at the program's start
//   handler     signal handlers on a stack that the kernel had to grow for their frames
//   stack       recursion to the end of a stack whose limit was lowered
//   protected   jumps to memory that must not be executed, and is executable before and after
//   file_end    reads behind the end of a mapped file
//   x87         the x87 unit's addresses of its last instruction and operand
//   machine     SMSW, which the kernel emulates if the processor refuses it
//   vsyscall    calls the page at the top; status 77 where there is none
//   alias       a file that is mapped twice, also as code that is changed through one mapping
//   secret      memfd_secret; status 77 where there is none
//   wait        ppoll and mremap
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "work.h"

#define NONE 77
#define PAGE 4096u
#define ROUNDS 2000

static long times = 1;
static sigjmp_buf past_fault;
static volatile int last_signal;
static volatile uint64_t fault_address;

static void on_fault(int number, siginfo_t* info, void* context) {
    (void)context;
    last_signal = number;
    fault_address = (uint64_t)info->si_addr;
    siglongjmp(past_fault, 1);
}

static void handle_faults(int flags) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | flags};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

static void* map_at(void* hint, size_t bytes, int flags) {
    void* memory =
        mmap(hint, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static int on_low(void) {
    uint8_t* places[] = {map_at(NULL, 1 << 20, MAP_32BIT), map_at((void*)0x10000000, 1 << 20, 0),
                         map_at((void*)0x1000000000, 1 << 20, 0)};
    uint64_t state = 1;
    for (long round = 0; round < times * 4 * ROUNDS; ++round)
        for (int i = 0; i < 3; ++i) {
            if (places[i] == NULL) return 2;
            uint64_t* word = (uint64_t*)(places[i] + state % (1 << 17) * 8);
            *word += state;
            state = work(state + *word, 40);
        }
    return state == 0;
}

static volatile sig_atomic_t handled;

static void on_count(int number) {
    volatile char mine[64];
    mine[number % 64] = 1;
    handled += mine[number % 64];
}

// Moves the stack pointer far down before it raises the signal.
__attribute__((noinline)) static void raise_below(size_t bytes) {
    asm volatile(
        "mov %%rsp, %%rbx\n\t"
        "sub %0, %%rsp\n\t"
        "and $-16, %%rsp\n\t"
        "syscall\n\t"
        "mov %%rbx, %%rsp\n\t"
        :
        : "r"(bytes), "a"(SYS_kill), "D"(getpid()), "S"(SIGUSR1)
        : "rbx", "rcx", "r11", "memory");
}

static int on_handler(void) {
    signal(SIGUSR1, on_count);
    uint64_t state = 1;
    for (size_t i = 1; i <= 20; ++i) {
        raise_below(i * 100000);
        state = work(state, 100);
    }
    return handled != 20 || state == 0;
}

__attribute__((noinline)) static uint64_t recurse(uint64_t depth) {
    volatile char room[1000];
    room[depth % sizeof room] = (char)depth;
    if (depth == ~UINT64_C(0)) return 1;
    return recurse(depth + 1) + (uint64_t)room[depth % sizeof room];
}

static int on_stack(void) {
    static char other[1 << 16];
    const stack_t stack = {.ss_sp = other, .ss_size = sizeof other};
    sigaltstack(&stack, NULL);
    handle_faults(SA_ONSTACK);
    for (volatile rlim_t kib = 512; kib <= 2048; kib *= 2) {
        const struct rlimit limit = {kib << 10, RLIM_INFINITY};
        struct rlimit all;
        if (getrlimit(RLIMIT_STACK, &all) != 0) return 2;
        all.rlim_cur = limit.rlim_cur;
        if (setrlimit(RLIMIT_STACK, &all) != 0) return 2;
        last_signal = 0;
        if (sigsetjmp(past_fault, 1) == 0) return (int)recurse(0) | 1;
        const uint64_t here = (uint64_t)__builtin_frame_address(0);
        if (last_signal != SIGSEGV || here - fault_address > kib << 10 ||
            here - fault_address < (kib << 10) - (64 << 10) - (1 << 18))
            return 3;
    }
    return 0;
}

static int on_protected(void) {
    handle_faults(0);
    uint8_t* code = map_at(NULL, PAGE, 0);
    if (code == NULL) return 2;
    memcpy(code, "\xb8\x07\x00\x00\x00\xc3", 6);  // mov $7, %eax; ret
    int (*const seven)(void) = (int (*)(void))(uintptr_t)code;
    volatile int faults = 0, sum = 0;
    for (volatile int round = 0; round < 20; ++round) {
        const int execute = round % 2 ? PROT_EXEC : 0;
        if (mprotect(code, PAGE, PROT_READ | execute) != 0) return 2;
        if (sigsetjmp(past_fault, 1) == 0)
            sum += seven();
        else
            faults += last_signal == SIGSEGV && fault_address == (uint64_t)code;
    }
    return faults != 10 || sum != 70;
}

static int on_file_end(void) {
    handle_faults(0);
    const int fd = memfd_create("corners", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, PAGE + 100) != 0) return 2;
    volatile uint8_t* bytes = mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    volatile int buses = 0;
    for (volatile int i = 0; i < 4; ++i) {
        if (sigsetjmp(past_fault, 1) == 0)
            buses += bytes[i * PAGE + 200];
        else
            buses += last_signal == SIGBUS && fault_address == (uint64_t)(bytes + i * PAGE + 200);
    }
    return buses != 2;
}

struct pointers {
    uint32_t environment[7], image[27];
    _Alignas(16) uint8_t area[512];
};

static int on_x87(void) {
    static struct pointers at;
    static volatile double number = 3;
    uint64_t state = 1;
    for (int i = 0; i < 20; ++i) {
        asm volatile("fldl %3\n\tfnstenv %0\n\tfxsave64 %2\n\tfnsave %1\n\tfninit"
                     : "=m"(at.environment), "=m"(at.image), "=m"(at.area)
                     : "m"(number));
        state = work(state + at.environment[3] + at.image[3], 100);
    }
    return state == 0;
}

static int on_machine(void) {
    uint64_t sum = 0;
    for (int i = 0; i < 20; ++i) {
        uint64_t wide = 0, other = 0, half = 0;
        uint16_t narrow = 0;
        asm volatile("smsw %w0\n\tstr %k1\n\tsldt %w0" : "+r"(half), "+r"(sum));
        asm volatile(
            "mov $-1, %%r9\n\tmov $-1, %%r11\n\tsmsw %%r9d\n\tsmsw %%r11w\n\t"
            "add %%r9, %0\n\tadd %%r11, %0"
            : "+r"(sum)
            :
            : "r9", "r11");
        asm volatile("smsw %0" : "=r"(wide));
        asm volatile("smsw %%r10\n\tmov %%r10, %0" : "=r"(other) : : "r10");
        asm volatile("smsw %0" : "=m"(narrow));
        if (other != wide || narrow != (uint16_t)wide) return 3;
        sum += narrow;
    }
    return sum == 0;
}

static int on_vsyscall(void) {
    char line[512];
    int executable = 0;
    FILE* maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "[vsyscall]") != NULL) executable = strstr(line, "x") != NULL;
    if (!executable) return NONE;
    int (*const get_time)(struct timeval*, void*) =
        (int (*)(struct timeval*, void*))0xffffffffff600000;
    long (*const seconds)(long*) = (long (*)(long*))0xffffffffff600400;
    uint64_t state = 1;
    for (int i = 0; i < 20; ++i) {
        struct timeval now = {0};
        long later = 0;
        if (get_time(&now, NULL) != 0 || seconds(&later) != later) return 2;
        // Seconds come from the kernel's last tick, so they may lag.
        if (now.tv_sec < 1000000000 || later < now.tv_sec - 1 || later > now.tv_sec + 2) return 3;
        state = work(state, 1000);
    }
    return state == 0;
}

static int on_alias(void) {
    const int fd = memfd_create("corners", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 4 * PAGE) != 0) return 2;
    volatile uint64_t* one = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    volatile uint64_t* other = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const void* code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 3 * PAGE);
    if (one == MAP_FAILED || other == MAP_FAILED || code == MAP_FAILED) return 2;
    int (*const answer)(void) = (int (*)(void))(uintptr_t)code;
    volatile uint8_t* text = (volatile uint8_t*)one + 3 * PAGE;
    const uint8_t bytes[] = {0xb8, 0, 0, 0, 0, 0xc3};  // mov $0, %eax; ret
    for (size_t i = 0; i < sizeof bytes; ++i) text[i] = bytes[i];
    uint64_t state = 1;
    for (uint64_t round = 1; round < ROUNDS; ++round) {
        one[round % 1024] = round;
        if (other[round % 1024] != round) return 3;
        other[round % 1024] += 1;
        if (one[round % 1024] != round + 1) return 4;
        text[1] = (uint8_t)round;
        if (answer() != (uint8_t)round) return 5;
        state = work(state, 20);
    }
    return state == 0;
}

static int on_secret(void) {
    const int fd = (int)syscall(447 /* memfd_secret */, 0);
    if (fd < 0 || ftruncate(fd, PAGE) != 0) return NONE;
    volatile uint64_t* words = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (words == MAP_FAILED) return NONE;
    uint64_t state = 1;
    for (uint64_t i = 0; i < 20; ++i) {
        words[i] = state;
        state = work(state, 1000) + words[i];
    }
    return state == 0;
}

static int on_wait(void) {
    int ends[2];
    if (pipe(ends) != 0) return 2;
    signal(SIGUSR1, on_count);
    uint64_t state = 1;
    size_t bytes = PAGE;
    uint8_t* memory = map_at(NULL, bytes, 0);
    for (int round = 0; round < 24 && memory != NULL; ++round) {
        struct pollfd of[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLOUT, 0}};
        struct timespec limit = {0, 1000000};
        sigset_t none;
        sigemptyset(&none);
        if (ppoll(of, 1 + (round & 1), &limit, &none) != (round & 1)) return 3;
        if (ppoll(NULL, 0, &limit, NULL) != 0) return 4;
        const size_t more = (size_t)(1 + round * 7 % 5) * PAGE;
        memory[bytes - 1] = memory[0] = (uint8_t)round;
        void* moved = round % 3 == 2 ? map_at(NULL, more, 0) : NULL;
        void* next = moved == NULL
                         ? mremap(memory, bytes, more, MREMAP_MAYMOVE)
                         : mremap(memory, bytes, more, MREMAP_MAYMOVE | MREMAP_FIXED, moved);
        if (next == MAP_FAILED) return 5;
        memory = next;
        bytes = more;
        if (memory[0] != (uint8_t)round) return 6;
        state = work(state + memory[bytes - 1], 100);
    }
    // Maps the same pages at a second place, and then without the first.
    uint64_t* shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    volatile uint64_t* twice = mremap(shared, 0, PAGE, MREMAP_MAYMOVE);
    if (twice == MAP_FAILED) return 7;
    for (uint64_t i = 0; i < 20; ++i) {
        ((volatile uint64_t*)shared)[i] = i;
        state = work(state, 10);
        if (twice[i] != i) return 8;
    }
    memory[5] = 55;
    volatile uint8_t* left =
        (uint8_t*)syscall(SYS_mremap, memory, bytes, bytes, MREMAP_MAYMOVE | 4 /* DONTUNMAP */, 0);
    if (left == MAP_FAILED) return state == 0;
    return left[5] != 55 || memory[5] != 0 || state == 0;
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        int (*run)(void);
    } kinds[] = {{"low", on_low},           {"handler", on_handler},
                 {"stack", on_stack},       {"protected", on_protected},
                 {"file_end", on_file_end}, {"x87", on_x87},
                 {"machine", on_machine},   {"vsyscall", on_vsyscall},
                 {"alias", on_alias},       {"secret", on_secret},
                 {"wait", on_wait}};
    if (argc > 2) times = atol(argv[2]);
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; ++i) {
        if (strcmp(kinds[i].name, argv[1]) != 0) continue;
        const int status = kinds[i].run();
        printf("corners: %s %d\n", argv[1], status);
        return status;
    }
    return 2;
}
