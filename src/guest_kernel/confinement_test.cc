// Nothing that a sample does leaves it. Makes every system call with hostile arguments, under a
// filter that kills the process at any real system call except for memory of its own.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "guest_kernel/test_support.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof::guest_confinement_test {
namespace {

constexpr int calls_per_row = 25;

// What malloc, the sanitizers and the exit need.
constexpr std::uint32_t allowed[] = {SYS_munmap,   SYS_brk,   SYS_mremap,     SYS_madvise,
                                     SYS_mprotect, SYS_futex, SYS_exit_group, SYS_sched_yield};

// UndefinedBehaviorSanitizer writes bytes of an object's virtual table to a pipe of its own, to see
// whether they are readable. Without sanitizers the same calls run under the full filter.
constexpr bool allow_virtual_table_checks = SHADOWPROF_SANITIZED;
constexpr std::uint32_t virtual_table_bytes = 16;

bool confine() {
    std::vector<sock_filter> filter;
    auto load = [&](std::size_t offset) {
        filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
    };
    auto allow = [&] { filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)); };
    auto allow_call = [&](std::uint32_t number) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
        allow();
    };
    load(offsetof(seccomp_data, nr));
    for (std::uint32_t number : allowed) allow_call(number);
    if (allow_virtual_table_checks) {
        allow_call(SYS_pipe2);
        allow_call(SYS_close);
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 4));
        load(offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t));
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, virtual_table_bytes, 0, 1));
        allow();
        load(offsetof(seccomp_data, nr));
    }
    // mmap of anonymous memory only.
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3));
    load(offsetof(seccomp_data, args) + 3 * sizeof(std::uint64_t));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1));
    allow();
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void fill_outside(FakeEnvironment& outside) {
    outside.add_file("/home/user/a", std::string(10000, 'a'));
    outside.add_file("/home/user/b", "b");
    outside.add_descriptor(3, "/home/user/a", O_RDWR, 7);
    outside.add_descriptor(4, "/home/user/b", O_RDONLY);
    outside.add_descriptor(5, "/home/user", O_RDONLY | O_DIRECTORY);
    outside.add_special(0, S_IFCHR, O_RDWR, makedev(136, 0));
    outside.add_special(1, S_IFIFO, O_WRONLY);
    outside.add_special(2, S_IFSOCK, O_RDWR);
    outside.add_special(6, S_IFCHR, O_RDWR, makedev(1, 5));
}

std::uint64_t hostile_argument(std::mt19937_64& random) {
    switch (random() % 8) {
        case 0:
            return random() % 8;
        case 1:
            return FakeGuest::data + random() % FakeGuest::data_bytes;
        case 2:
            return FakeGuest::data + random() % 16 * page_bytes;
        case 3:
            return std::uint64_t{1} << random() % 64;
        case 4:
            return ~(random() % 200);
        case 5:
            return random() % 0x8000;
        case 6:
            return static_cast<std::uint64_t>(AT_FDCWD);
        default:
            return random();
    }
}

// Fills memory with values that are plausible as paths, small numbers, addresses and sizes.
void fill_memory(FakeGuest& guest, std::mt19937_64& random) {
    static constexpr const char* paths[] = {"a", "new", "/home/user/b", "../x", "/tmp/y/", ""};
    for (std::uint64_t at = 0; at < FakeGuest::data_bytes; at += 64) {
        if (random() % 2)
            guest.put_string(paths[random() % std::size(paths)], FakeGuest::data + at);
        else
            for (std::uint64_t i = 0; i < 64; i += 8)
                guest.put_value(hostile_argument(random), FakeGuest::data + at + i);
    }
}

void call_everything() {
    std::mt19937_64 random(3);
    for (const SyscallFacts& row : syscall_facts()) {
        for (int i = 0; i < calls_per_row; ++i) {
            FakeEnvironment outside;
            fill_outside(outside);
            FakeGuest guest(outside);
            fill_memory(guest, random);
            // Several calls, so that the state left by one is used by another.
            const SyscallFacts& other = syscall_facts()[random() % syscall_facts().size()];
            for (long number : {row.number, other.number, row.number})
                guest.call(number, hostile_argument(random), hostile_argument(random),
                           hostile_argument(random), hostile_argument(random),
                           hostile_argument(random), hostile_argument(random));
        }
    }
}

template <typename Work>
int status_of_confined_child(Work work) {
    pid_t child = ::fork();
    if (child == 0) {
        if (!confine()) ::_exit(3);
        work();
        // Not _exit(3): a sanitizer makes more system calls before a function that does not return.
        ::syscall(SYS_exit_group, 0);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

}  // namespace

TEST_CASE("the filter of this test kills a process that opens a file or writes") {
    int opened = status_of_confined_child([] { ::open("/dev/null", O_RDONLY); });
    CHECK(WIFSIGNALED(opened));
    CHECK(WTERMSIG(opened) == SIGSYS);
    int wrote = status_of_confined_child([] { (void)!::write(1, "", 0); });
    CHECK(WIFSIGNALED(wrote));
    int nothing = status_of_confined_child([] {});
    CHECK(WIFEXITED(nothing));
    CHECK(WEXITSTATUS(nothing) == 0);
}

TEST_CASE("no system call of a sample, whatever its arguments, becomes a real one") {
    int status = status_of_confined_child(call_everything);
    CHECK(!WIFSIGNALED(status));
    CHECK(status == 0);
}

}  // namespace shadowprof::guest_confinement_test
