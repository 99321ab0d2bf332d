#include "native.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ptrace/thread/thread_registers.h"

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

// Populates all pages: on a page fault, some virtual machines return by SIGSEGV to a program whose
// RSP is not canonical, as in many cases.
void map_at(std::uint64_t at, std::size_t bytes, int protection, int fd, std::size_t offset) {
    void* wanted = reinterpret_cast<void*>(at);
    if (mmap(wanted, bytes, protection, MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_POPULATE, fd,
             static_cast<off_t>(offset)) != wanted)
        give_up("mmap of the guest");
}

// Where each case is entered, below all other memory of the process: the kernel enters code that
// sets RSP and jumps to the case.
constexpr std::uint64_t entry_at = 0x1000'0000;
static_assert(entry_at + page_bytes <= placements[0]);

void write_entry(const CpuState& start, std::byte* entry) {
    constexpr std::array<std::uint8_t, 2> move_to_rsp = {0x48, 0xbc};
    // jmp [rip + 0]
    constexpr std::array<std::uint8_t, 6> jump = {0xff, 0x25, 0, 0, 0, 0};
    const auto append = [&](const auto& bytes) {
        std::memcpy(entry, &bytes, sizeof bytes);
        entry += sizeof bytes;
    };
    append(move_to_rsp);
    append(start[Gpr::rsp]);
    append(jump);
    append(start.rip.value);
}

// Otherwise the kernel would write to the C library's area, which is about to be unmapped.
void unregister_rseq() {
    constexpr unsigned flag_unregister = 1, signature = 0x53053053, area_bytes = 32;
    auto* area = static_cast<std::byte*>(__builtin_thread_pointer()) + __rseq_offset;
    syscall(SYS_rseq, area, area_bytes, flag_unregister, signature);
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
    munmap(entry_, page_bytes);
}

void NativeRunner::start() {
    const int code = memory_file(code_bytes), memory = memory_file(memory_bytes);
    const int entry = memory_file(page_bytes);
    const auto view = [](std::byte*& at, std::size_t bytes, int fd) {
        if (at) munmap(at, bytes);
        void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED) give_up("mmap");
        at = static_cast<std::byte*>(mapped);
    };
    view(code_, code_bytes, code);
    view(memory_, memory_bytes, memory);
    view(entry_, page_bytes, entry);
    pid_ = fork();
    if (pid_ < 0) give_up("fork");
    if (pid_ == 0) {
        map_at(entry_at, page_bytes, PROT_READ | PROT_EXEC, entry, 0);
        for (const auto base : placements) {
            map_at(base, code_bytes, PROT_READ | PROT_EXEC, code, 0);
            map_at(base + data_offset, data_bytes, PROT_READ | PROT_WRITE, memory, 0);
            map_at(base + constant_offset, constant_bytes, PROT_READ, memory, data_bytes);
        }
        unregister_rseq();
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        _exit(3);
    }
    close(code);
    close(memory);
    close(entry);
    int signal = 0;
    if (!wait_stop(pid_, signal)) give_up("the native process");
    ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_EXITKILL);
    first_xstate_.resize(max_xstate_bytes);
    iovec regset = {first_xstate_.data(), first_xstate_.size()};
    if (ptrace(PTRACE_GETREGSET, pid_, NT_X86_XSTATE, &regset) != 0) give_up("its registers");
    first_xstate_.resize(regset.iov_len);
    isolate();
}

// Makes a system call in the stopped process, from its code pages.
void NativeRunner::call(std::uint64_t number, std::array<std::uint64_t, 3> arguments) {
    constexpr std::array<std::uint8_t, 3> code = {0x0f, 0x05, end_marker};
    std::memcpy(code_, code.data(), code.size());
    user_regs_struct registers;
    ptrace(PTRACE_GETREGS, pid_, nullptr, &registers);
    registers.rip = placements[0];
    registers.orig_rax = ~0ull;
    registers.rax = number;
    registers.rdi = arguments[0];
    registers.rsi = arguments[1];
    registers.rdx = arguments[2];
    registers.r10 = registers.r8 = 0;
    ptrace(PTRACE_SETREGS, pid_, nullptr, &registers);
    ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
    int signal = 0;
    if (!wait_stop(pid_, signal) || signal != SIGTRAP) give_up("the native process");
    ptrace(PTRACE_GETREGS, pid_, nullptr, &registers);
    if (registers.rax != 0) give_up("a system call of the native process");
}

// Unmaps everything except the guest's memory, and forbids every system call.
void NativeRunner::isolate() {
    constexpr std::uint64_t user_end = 0x7fff'ffff'f000;
    call(SYS_munmap, {page_bytes, entry_at - page_bytes, 0});
    std::uint64_t from = entry_at + page_bytes;
    for (const auto base : placements) {
        call(SYS_munmap, {from, base - from, 0});
        from = base + constant_offset + constant_bytes;
    }
    call(SYS_munmap, {from, user_end - from, 0});
    const sock_filter kill = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    const auto data = placements[0] + data_offset;
    sock_fprog program = {1, nullptr};
    const auto filter = data + sizeof program;
    std::memcpy(memory_, &program, sizeof program);
    std::memcpy(memory_ + offsetof(sock_fprog, filter), &filter, sizeof filter);
    std::memcpy(memory_ + sizeof program, &kill, sizeof kill);
    call(SYS_prctl, {PR_SET_NO_NEW_PRIVS, 1, 0});
    call(SYS_seccomp, {SECCOMP_SET_MODE_FILTER, 0, data});
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
    registers.rip = entry_at;
    registers.rsp = placements[0];
    write_entry(cpu, entry_);
    auto area = first_xstate_;
    iovec regset = {area.data(), area.size()};
    return ptrace(PTRACE_SETREGS, pid_, nullptr, &registers) == 0 && store_extended(cpu, area) &&
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
    // Only a mistake of the generator makes a case that never ends.
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
