#include "native.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ptrace/thread_registers.h"

namespace shadowprof {
namespace {

[[noreturn]] void give_up(const char* what) {
    std::perror(what);
    std::exit(2);
}

int memory_file(std::size_t bytes) {
    const int fd = memfd_create("instructions", 0);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) give_up("memfd_create");
    return fd;
}

void map_at(std::uint64_t at, std::size_t bytes, int protection, int fd, std::size_t offset) {
    void* wanted = reinterpret_cast<void*>(at);
    if (mmap(wanted, bytes, protection, MAP_SHARED | MAP_FIXED_NOREPLACE, fd,
             static_cast<off_t>(offset)) != wanted)
        give_up("mmap of the guest");
}

void forbid_system_calls() {
    sock_filter kill[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    const sock_fprog program = {1, kill};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(3);
}

// Waits until the process stops; false if it ended.
bool wait_stop(pid_t pid, int& signal) {
    int status = 0;
    while (waitpid(pid, &status, __WALL) < 0)
        if (errno != EINTR) return false;
    if (!WIFSTOPPED(status)) return false;
    signal = WSTOPSIG(status);
    return true;
}

}  // namespace

NativeRunner::NativeRunner() {
    start();
}
NativeRunner::~NativeRunner() {
    stop();
    munmap(code_, code_bytes);
    munmap(memory_, memory_bytes);
}

void NativeRunner::start() {
    const int code = memory_file(code_bytes), memory = memory_file(memory_bytes);
    const auto view = [](std::byte*& at, std::size_t bytes, int fd) {
        if (at) munmap(at, bytes);
        void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED) give_up("mmap");
        at = static_cast<std::byte*>(mapped);
    };
    view(code_, code_bytes, code);
    view(memory_, memory_bytes, memory);
    pid_ = fork();
    if (pid_ < 0) give_up("fork");
    if (pid_ == 0) {
        for (const auto base : placements) {
            map_at(base, code_bytes, PROT_READ | PROT_EXEC, code, 0);
            map_at(base + data_offset, data_bytes, PROT_READ | PROT_WRITE, memory, 0);
            map_at(base + constant_offset, constant_bytes, PROT_READ, memory, data_bytes);
        }
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        forbid_system_calls();
        asm volatile("int3");
        _exit(3);
    }
    close(code);
    close(memory);
    int signal = 0;
    if (!wait_stop(pid_, signal)) give_up("the native process");
    ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_EXITKILL);
    ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
    if (!wait_stop(pid_, signal) || signal != SIGTRAP) give_up("the native process");
}

void NativeRunner::stop() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, __WALL);
    pid_ = -1;
}

bool NativeRunner::set_state(const CpuState& cpu) {
    user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) != 0) return false;
    store_general(cpu, registers);
    registers.orig_rax = ~0ull;
    alignas(64) std::array<std::byte, max_xstate_bytes> area;
    iovec regset = {area.data(), area.size()};
    return ptrace(PTRACE_SETREGS, pid_, nullptr, &registers) == 0 &&
           ptrace(PTRACE_GETREGSET, pid_, NT_X86_XSTATE, &regset) == 0 &&
           store_extended(cpu, std::span(area).first(regset.iov_len)) &&
           ptrace(PTRACE_SETREGSET, pid_, NT_X86_XSTATE, &regset) == 0;
}

bool NativeRunner::get_state(CpuState& cpu) {
    user_regs_struct registers;
    alignas(64) std::array<std::byte, max_xstate_bytes> area;
    iovec regset = {area.data(), area.size()};
    if (ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) != 0 ||
        ptrace(PTRACE_GETREGSET, pid_, NT_X86_XSTATE, &regset) != 0)
        return false;
    load_general(cpu, registers);
    return static_cast<bool>(load_extended(cpu, std::span(area).first(regset.iov_len)));
}

void NativeRunner::run(const Case& test, Outcome& outcome) {
    fill_code(test, {code_, code_bytes});
    fill_memory(test, std::span<std::byte, memory_bytes>(memory_, memory_bytes));
    outcome.ending = Ending::lost;
    outcome.signal = 0;
    outcome.fault_address = {};
    if (!set_state(test.start)) give_up("the native process refuses a start state");
    // A case that never ends would be the generator's mistake.
    alarm(20);
    int signal = 0;
    const bool stopped =
        ptrace(PTRACE_CONT, pid_, nullptr, nullptr) == 0 && wait_stop(pid_, signal);
    alarm(0);
    if (!stopped) {
        start();
        return;
    }
    siginfo_t info{};
    ptrace(PTRACE_GETSIGINFO, pid_, nullptr, &info);
    get_state(outcome.cpu);
    std::memcpy(outcome.memory.data(), memory_, memory_bytes);
    if (signal == SIGTRAP && info.si_code == SI_KERNEL) {
        outcome.ending = Ending::marker;
        outcome.cpu.rip = outcome.cpu.rip - 1;
        return;
    }
    outcome.ending = Ending::fault;
    outcome.signal = signal;
    if (signal == SIGSEGV && info.si_code > 0 && info.si_code != SI_KERNEL)
        outcome.fault_address = {reinterpret_cast<std::uint64_t>(info.si_addr)};
}

}  // namespace shadowprof
