// Makes random system calls on memory of its own, with odd lengths and addresses, bad descriptors
// and memory that is not there, and writes to that memory and reads it in between. Prints a digest
// of all results, errors and contents, which depends on the seed alone.
//   random_calls SEED CALLS [from]   from: tells each call from this number on, on standard error
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "parent.h"

enum {
    page = 4096,
    arena_pages = 48,
    room_pages = 64,  // with the free pages behind the arena
    static_pages = 12,
    heap_pages = 16,
    slots = 6,
    most_slot_pages = 24,
    // Descriptors that no other file gets.
    file = 100,
    pipe_out = 101,
    pipe_in = 102,
    socket_out = 103,
    socket_in = 104,
    mapped_file = 105,  // always the same, so that mappings of it are
    no_descriptor = 99,
};

// Memory on which calls are made. Nothing else lies within `bytes`. Only the arena may have holes,
// as the kernel would fill others with what it places itself.
typedef struct {
    char* start;
    size_t bytes;
} Region;

// Nothing else is near.
static char* const arena_start = (char*)0x300000000000;
static char static_memory[static_pages * page] __attribute__((aligned(4096)));
// 0: the arena; 1: static memory; 2: the heap; the rest: what the kernel has placed.
static Region regions[3 + slots];
static char* heap_start;

static uint64_t state, digest = 1469598103934665603u;
static long tells_from = -1, number;
static sigjmp_buf behind_fault;

static uint64_t next(void) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static size_t below(size_t limit) {
    return next() % limit;
}
static int one_in(size_t many) {
    return below(many) == 0;
}

static void mix(uint64_t value) {
    digest = (digest ^ value) * 1099511628211u;
    digest ^= digest >> 29;
}

static void tell(const char* what, long result, int error) {
    if (tells_from < 0 || number < tells_from) return;
    char line[128];
    const int length = snprintf(line, sizeof line, "%ld %s: %ld, errno %d, digest %016llx\n",
                                number, what, result, error, (unsigned long long)digest);
    if (write(2, line, (size_t)length) < 0) _exit(3);
}

// Notes a call's result, which must be the same wherever the kernel places memory.
static long note(const char* what, long result) {
    const int error = result == -1 ? errno : 0;
    mix((uint64_t)result);
    mix((uint64_t)error);
    tell(what, result, error);
    return result;
}

static void leave_fault(int signal) {
    siglongjmp(behind_fault, signal);
}

// Writes `bytes` that follow from the state. Returns whether all could be written to.
static int fill(char* at, size_t bytes) {
    const uint64_t seed = next();
    const int fault = sigsetjmp(behind_fault, 0);
    if (fault == 0) {
        for (size_t i = 0; i < bytes; ++i) ((volatile char*)at)[i] = (char)(seed >> (i % 57));
        return 1;
    }
    mix((uint64_t)fault);
    return 0;
}

// Copies all bytes, or zeroes those before one that cannot be written to: addresses among them may
// be others in another run.
static int put(char* at, const void* from, size_t bytes) {
    volatile size_t done = 0;
    if (sigsetjmp(behind_fault, 0) != 0) {
        memset(at, 0, done);
        return 0;
    }
    for (; done < bytes; ++done) ((volatile char*)at)[done] = ((const char*)from)[done];
    return 1;
}

static void check(const char* at, size_t bytes) {
    const int fault = sigsetjmp(behind_fault, 0);
    if (fault != 0) {
        mix((uint64_t)fault);
        return;
    }
    // The state of the sum must survive a fault.
    for (size_t i = 0; i < bytes; i += 8) mix(*(const volatile uint64_t*)(at + i));
}

static void check_all(void) {
    for (size_t i = 0; i < sizeof regions / sizeof *regions; ++i)
        for (size_t at = 0; at < regions[i].bytes; at += page) check(regions[i].start + at, page);
    char contents[8192];
    for (off_t at = 0;; at += (off_t)sizeof contents) {
        const ssize_t bytes = pread(file, contents, sizeof contents, at);
        if (bytes <= 0) break;
        for (ssize_t i = 0; i < bytes; ++i) mix((uint64_t)contents[i]);
    }
    tell("everything", 0, 0);
}

// A region: mostly the arena.
static Region* any_region(void) {
    Region* region = &regions[below(2) ? 0 : below(3 + slots)];
    return region->bytes != 0 ? region : &regions[0];
}

typedef struct {
    char* at;
    size_t bytes;
} Range;

static size_t odd(size_t bytes) {
    switch (below(4)) {
        case 0:
            return bytes + 1;
        case 1:
            return bytes != 0 ? bytes - 1 : 0;
        default:
            return bytes + below(page);
    }
}

// Whole pages or parts of them, which may reach behind the arena, but not behind other regions.
static Range any_range(const Region* region) {
    const size_t pages = region->bytes / page;
    const size_t first = below(pages);
    size_t bytes = (one_in(4) ? below(pages) : below(6)) * page;
    if (one_in(2)) bytes = odd(bytes);
    Range range = {region->start + first * page, bytes};
    if (one_in(12)) range.at += below(page);
    if (region != &regions[0] || one_in(2)) {
        const size_t room = (size_t)(region->start + region->bytes - range.at);
        if (range.bytes > room) range.bytes = room;
    } else if (one_in(40)) {
        range.bytes = -below(3 * page);
    }
    return range;
}

// Where a structure or data may be: often across the end of a page.
static Range any_data(size_t most) {
    const Region* region = any_region();
    const size_t bytes = below(most) + 1;
    size_t offset = below(region->bytes);
    if (one_in(2)) offset = offset / page * page + page - below(bytes + 1);
    offset %= region->bytes;
    const size_t room = region == &regions[0] ? bytes : region->bytes - offset;
    return (Range){region->start + offset, bytes < room ? bytes : room};
}

// The same for a structure that needs no more than `bytes`.
static char* any_place(size_t bytes) {
    Range data;
    do data = any_data(2 * bytes);
    while (data.bytes < bytes);
    return data.at;
}

static const int protections[] = {PROT_READ | PROT_WRITE,
                                  PROT_READ | PROT_WRITE,
                                  PROT_READ,
                                  PROT_NONE,
                                  PROT_WRITE,
                                  PROT_READ | PROT_EXEC,
                                  64};
static int any_protection(void) {
    return protections[below(sizeof protections / sizeof *protections)];
}

static Region* free_slot(void) {
    for (int i = 3; i < 3 + slots; ++i)
        if (regions[i].bytes == 0) return &regions[i];
    return NULL;
}

// Keeps memory that the kernel has placed, or gives it back.
static void keep(char* at, size_t bytes) {
    bytes = (bytes + page - 1) / page * page;
    Region* slot = free_slot();
    if (slot)
        *slot = (Region){at, bytes};
    else
        note("munmap of no slot", munmap(at, bytes));
}

// The calls.

static void map(void) {
    const int fixed = one_in(4) ? MAP_FIXED_NOREPLACE : MAP_FIXED;
    int flags = MAP_PRIVATE | (one_in(8) ? MAP_POPULATE : 0) | (one_in(20) ? MAP_LOCKED : 0);
    const int is_file = one_in(3);
    if (!is_file) flags |= MAP_ANONYMOUS;
    const int descriptor = !is_file ? -1 : one_in(4) ? no_descriptor : mapped_file;
    const off_t offset = one_in(8) ? 5 : (off_t)below(8) * page;
    if (!one_in(4)) {
        const Range range = any_range(&regions[0]);
        const long at = syscall(SYS_mmap, range.at, range.bytes, any_protection(), flags | fixed,
                                descriptor, offset);
        note("mmap", at == -1 ? -1 : at - (long)range.at);
        return;
    }
    const size_t bytes = odd(below(most_slot_pages) * page);
    const long at = syscall(SYS_mmap, NULL, bytes, any_protection(), flags, descriptor, offset);
    note("mmap anywhere", at == -1 ? -1 : 0);
    if (at != -1) keep((char*)at, bytes);
}

static void unmap(void) {
    Region* slot = &regions[3 + below(slots)];
    if (one_in(4) && slot->bytes != 0) {
        note("munmap of a slot", munmap(slot->start, slot->bytes - below(page)));
        *slot = (Region){NULL, 0};
        return;
    }
    const Range range = any_range(&regions[0]);
    note("munmap", munmap(range.at, range.bytes));
}

static void protect(void) {
    const Range range = any_range(any_region());
    if (one_in(8))
        note("pkey_mprotect",
             syscall(SYS_pkey_mprotect, range.at, range.bytes, any_protection(), -1));
    else
        note("mprotect", mprotect(range.at, range.bytes, any_protection()));
}

static void remap(void) {
    Region* slot = &regions[3 + below(slots)];
    const size_t new_bytes = odd(below(most_slot_pages) * page);
    if (one_in(3) && slot->bytes != 0) {
        const long at =
            syscall(SYS_mremap, slot->start, slot->bytes - below(page), new_bytes, MREMAP_MAYMOVE);
        note("mremap of a slot", at == -1 ? -1 : 0);
        if (at != -1) *slot = (Region){(char*)at, (new_bytes + page - 1) / page * page};
        return;
    }
    static const int all_flags[] = {0, MREMAP_MAYMOVE, MREMAP_MAYMOVE | MREMAP_FIXED,
                                    MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, MREMAP_FIXED};
    const int flags = all_flags[below(sizeof all_flags / sizeof *all_flags)];
    const Range from = any_range(&regions[0]), to = any_range(&regions[0]);
    const size_t bytes = one_in(2) ? from.bytes : new_bytes;
    const long at = syscall(SYS_mremap, from.at, from.bytes, bytes, flags, to.at);
    const int is_placed = at != -1 && (flags & MREMAP_FIXED) == 0 && at != (long)from.at;
    note("mremap", at == -1 || is_placed ? at == -1 ? -1 : 1 : at - (long)arena_start);
    if (is_placed) keep((char*)at, bytes);
}

static void advise(void) {
    // Those whose effect the program must not notice, and those that empty memory.
    static const int all[] = {
        MADV_NORMAL, MADV_RANDOM,     MADV_WILLNEED, MADV_DONTNEED, MADV_DONTNEED,  MADV_DONTNEED,
        MADV_REMOVE, MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_DODUMP,   MADV_MERGEABLE, MADV_COLD,
        22,  // MADV_POPULATE_READ
        23,  // MADV_POPULATE_WRITE
        24,  // MADV_DONTNEED_LOCKED
        77};
    const int advice = all[below(sizeof all / sizeof *all)];
    const Range range = any_range(any_region());
    if (!one_in(10)) {
        note("madvise", madvise(range.at, range.bytes, advice));
        return;
    }
    const int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    const struct iovec vector = {range.at, range.bytes};
    note("process_madvise", syscall(SYS_process_madvise, self, &vector, 1, advice, 0));
    close(self);
}

static void lock(void) {
    const Range range = any_range(any_region());
    switch (below(6)) {
        case 0:
            note("mlock", mlock(range.at, range.bytes));
            return;
        case 1:
            note("mlock2", syscall(SYS_mlock2, range.at, range.bytes, below(3)));
            return;
        case 2:
            note("munlockall", munlockall());
            return;
        case 3:
            note("msync", msync(range.at, range.bytes, (int)below(8)));
            return;
        case 4: {
            static unsigned char residency[2 * room_pages];
            const size_t bytes = range.bytes > room_pages * page ? 0 : range.bytes;
            note("mincore", mincore(range.at, bytes, residency));
            return;
        }
        default:
            note("munlock", munlock(range.at, range.bytes));
    }
}

static void other_mapping(void) {
    const Range range = any_range(any_region());
    switch (below(3)) {
        case 0:
            note("remap_file_pages",
                 syscall(SYS_remap_file_pages, range.at, range.bytes, 0, below(4), 0));
            return;
        case 1:
            note("shmdt", syscall(SYS_shmdt, range.at));
            return;
        default:
            note("shmat", syscall(SYS_shmat, -1, range.at, 0));
    }
}

static void move_break(void) {
    Region* heap = &regions[2];
    char* wanted = heap_start + below(heap_pages) * page + (one_in(2) ? below(page) : 0);
    if (one_in(20)) wanted = NULL;
    char* now = (char*)syscall(SYS_brk, wanted);
    note("brk", now - heap_start);
    *heap = (Region){heap_start, (size_t)(now - heap_start) / page * page};
}

static void read_file(void) {
    const Range data = any_data(3 * page);
    const off_t offset = (off_t)below(10 * page);
    const int descriptor = one_in(12) ? no_descriptor : file;
    switch (below(3)) {
        case 0:
            note("pread", pread(descriptor, data.at, data.bytes, offset));
            return;
        case 1:
            lseek(file, offset, SEEK_SET);
            note("read", read(descriptor, data.at, data.bytes));
            return;
        default: {
            const Range second = any_data(page);
            const struct iovec vectors[] = {{data.at, data.bytes}, {second.at, second.bytes}};
            char* const place = any_place(sizeof vectors);
            const int there = put(place, vectors, sizeof vectors);
            const int count = one_in(9) ? -1 : 2;
            struct iovec* from = there || one_in(2) ? (struct iovec*)place : NULL;
            note("preadv", syscall(SYS_preadv, descriptor, from, count, offset, 0));
            // Addresses may be others in another run.
            if (there) fill(place, sizeof vectors);
        }
    }
}

static void write_file(void) {
    const Range data = any_data(3 * page);
    const off_t offset = (off_t)below(8 * page);
    switch (below(4)) {
        case 0:
            note("pwrite", pwrite(file, data.at, data.bytes, offset));
            return;
        case 1: {
            const Range second = any_data(page);
            const struct iovec vectors[] = {{data.at, data.bytes}, {second.at, second.bytes}};
            note("pwritev", pwritev(file, vectors, 2, offset));
            return;
        }
        case 2:
            note("ftruncate", ftruncate(file, offset));
            return;
        default:
            lseek(file, offset, SEEK_SET);
            note("write", write(file, data.at, data.bytes));
    }
}

static void use_pipe(void) {
    const Range data = any_data(2 * page);
    if (one_in(2))
        note("write to a pipe", write(pipe_in, data.at, data.bytes));
    else
        note("read of a pipe", read(pipe_out, data.at, data.bytes));
    if (one_in(4)) {
        note("FIONREAD", ioctl(pipe_out, FIONREAD, any_place(sizeof(int))));
    }
}

static int meet(Range range, const char* at, size_t bytes) {
    return range.at < at + bytes && at < range.at + range.bytes;
}

static void use_socket(void) {
    const Range data = any_data(page), second = any_data(300);
    char* const place = any_place(sizeof(struct msghdr));
    // Addresses must not be sent.
    if (meet(data, place, sizeof(struct msghdr)) || meet(second, place, sizeof(struct msghdr)))
        return;
    const struct iovec vectors[] = {{data.at, data.bytes}, {second.at, second.bytes}};
    struct msghdr message = {.msg_iov = (struct iovec*)vectors, .msg_iovlen = 2};
    const int there = put(place, &message, sizeof message);
    struct msghdr* const at = there || one_in(2) ? (struct msghdr*)place : NULL;
    if (one_in(2))
        note("sendmsg", syscall(SYS_sendmsg, socket_out, at, MSG_DONTWAIT));
    else
        note("recvmsg", syscall(SYS_recvmsg, socket_in, at, MSG_DONTWAIT));
    if (there) fill(place, sizeof message);
    if (one_in(2)) note("recv", recv(socket_in, data.at, data.bytes, MSG_DONTWAIT));
    const socklen_t room = (socklen_t)below(40);
    char* const length = any_place(sizeof room);
    put(length, &room, sizeof room);
    note("getsockname", syscall(SYS_getsockname, socket_in, place, length));
}

// What is random or a time is overwritten.
static void get_random(void) {
    const Range data = any_data(2 * page);
    const long bytes = note("getrandom", syscall(SYS_getrandom, data.at, data.bytes, below(5)));
    if (bytes > 0) fill(data.at, (size_t)bytes);
    char* const time = any_place(sizeof(struct timespec));
    note("clock_gettime", syscall(SYS_clock_gettime, CLOCK_REALTIME, time));
    fill(time, sizeof(struct timespec));
}

static void use_futex(void) {
    char *const word = any_place(8), *const second = any_place(sizeof(struct timespec));
    const struct timespec soon = {0, one_in(4) ? -1 : 1};
    const int there = put(second, &soon, sizeof soon);
    const uint32_t value = 0x12345678;
    switch (below(3)) {
        case 0:
            note("FUTEX_WAKE", syscall(SYS_futex, word, FUTEX_WAKE | below(2) * 128, 1));
            return;
        case 1:
            note("FUTEX_WAIT",
                 syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, there ? second : NULL));
            return;
        default:
            note("FUTEX_CMP_REQUEUE",
                 syscall(SYS_futex, word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1, second, value));
    }
}

static void get_structure(void) {
    char *const data = any_place(sizeof(struct utsname)), *const second = any_place(64);
    switch (below(10)) {
        case 0:
            note("uname", syscall(SYS_uname, data));
            return;
        case 1:
            note("prlimit64", syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, data));
            return;
        case 2:
            note("getcwd", syscall(SYS_getcwd, data, below(sizeof(struct utsname))));
            return;
        case 3:
            note("rt_sigprocmask", syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, data, 8));
            return;
        case 4:
            note("getresuid", syscall(SYS_getresuid, data, second, data + 8));
            return;
        case 5: {
            const struct timespec time = {0, one_in(2) ? 1 : 2000000000};
            if (put(data, &time, sizeof time))
                note("nanosleep", syscall(SYS_nanosleep, one_in(9) ? NULL : data, second));
            return;
        }
        case 6:
            put(second, "/proc/self/nothing", below(20));
            note("access", syscall(SYS_access, second, 0));
            return;
        case 7: {
            const struct pollfd file_there = {file, POLLIN, 0};
            put(second, &file_there, sizeof file_there);
            note("poll", syscall(SYS_poll, second, below(3), 0));
            return;
        }
        case 8:
            note("sigaltstack", syscall(SYS_sigaltstack, NULL, data));
            return;
        default: {
            if (note("pipe2", syscall(SYS_pipe2, data, 0)) != 0) return;
            int ends[2];
            memcpy(ends, data, sizeof ends);
            close(ends[0]);
            close(ends[1]);
        }
    }
}

// Calls of which the emulator's table does not know what they read and write.
static void use_unknown(void) {
    const Range from = any_data(2 * page), to = any_data(2 * page);
    const struct iovec source = {from.at, from.bytes}, target = {to.at, to.bytes};
    switch (below(3)) {
        case 0:
            note("process_vm_readv",
                 syscall(SYS_process_vm_readv, getpid(), &target, 1, &source, 1, 0));
            return;
        case 1:
            note("process_vm_writev",
                 syscall(SYS_process_vm_writev, getpid(), &source, 1, &target, 1, 0));
            return;
        default: {
            const pid_t child = fork();
            if (child == 0) {
                check_all();
                _exit((int)(digest & 0x7f));
            }
            int status = 0;
            waitpid(child, &status, 0);
            note("fork", status);
        }
    }
}

static const struct {
    void (*call)(void);
    int weight;
} calls[] = {{map, 14},       {unmap, 6},      {protect, 12},      {remap, 8},
             {advise, 14},    {lock, 7},       {other_mapping, 1}, {move_break, 5},
             {read_file, 10}, {write_file, 8}, {use_pipe, 6},      {use_socket, 5},
             {get_random, 4}, {use_futex, 4},  {get_structure, 8}, {use_unknown, 1}};
enum { kinds = sizeof calls / sizeof *calls };

static void make_call(void) {
    int all = 0;
    for (int i = 0; i < kinds; ++i) all += calls[i].weight;
    int left = (int)below((size_t)all), kind = 0;
    while (left >= calls[kind].weight) left -= calls[kind++].weight;
    calls[kind].call();
}

static void move_descriptor(int from, int to) {
    require(dup2(from, to) == to, "dup2");
    close(from);
}

static void prepare(void) {
    int ends[2];
    require(pipe2(ends, O_NONBLOCK) == 0, "pipe2");
    move_descriptor(ends[0], pipe_out);
    move_descriptor(ends[1], pipe_in);
    require(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
    move_descriptor(ends[0], socket_out);
    move_descriptor(ends[1], socket_in);
    move_descriptor(memfd_create("contents", 0), file);
    move_descriptor(memfd_create("mapped", 0), mapped_file);
    for (int i = 0; i < 10 * page + 99; i += (int)sizeof state) {
        next();
        require(write(mapped_file, &state, sizeof state) == sizeof state, "write");
    }
    void* arena = mmap(arena_start, arena_pages * page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    require(arena == arena_start, "mmap");
    regions[0] = (Region){arena_start, room_pages * page};
    regions[1] = (Region){static_memory, sizeof static_memory};
    // From now on nothing may use malloc().
    char* now = (char*)syscall(SYS_brk, NULL);
    heap_start = now + (-(uintptr_t)now & (page - 1));
    syscall(SYS_brk, heap_start);
    struct sigaction action = {.sa_handler = leave_fault, .sa_flags = SA_NODEFER};
    require(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0,
            "sigaction");
}

int main(int argc, char** argv) {
    require(argc > 2, "the seed and the number of calls are missing");
    state = strtoull(argv[1], NULL, 0);
    const long count = atol(argv[2]);
    if (argc > 3) tells_from = atol(argv[3]);
    prepare();
    for (number = 0; number < count; ++number) {
        for (size_t writes = below(4); writes > 0; --writes) {
            const Range data = any_data(one_in(4) ? 3 * page : 100);
            fill(data.at, data.bytes);
        }
        make_call();
        const Region* region = any_region();
        check(region->start + below(region->bytes / page) * page, page);
        if (number % 400 == 399) check_all();
    }
    check_all();
    char line[64];
    const int length = snprintf(line, sizeof line, "%ld calls, digest %016llx\n", count,
                                (unsigned long long)digest);
    return write(1, line, (size_t)length) == length ? 0 : 1;
}
