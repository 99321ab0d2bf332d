#include "base/files/truncated_files.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <csignal>
#include <cstdint>

#include "base/guest_address.h"

namespace shadowprof {
namespace {

void* page_of(std::uint64_t address) {
    return reinterpret_cast<void*>(address & ~(page_bytes - 1));
}

void on_bus_error(int, siginfo_t* info, void* context) {
    const auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    void* page = page_of(reinterpret_cast<std::uint64_t>(info->si_addr));
    const bool is_own_code = page == page_of(static_cast<std::uint64_t>(registers[REG_RIP]));
    const bool replaced = info->si_code == BUS_ADRERR && !is_own_code &&
                          ::mmap(page, page_bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    // With the default action, the repeated access kills the process.
    if (!replaced) ::signal(SIGBUS, SIG_DFL);
}

}  // namespace

void survive_truncated_files() {
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace shadowprof
