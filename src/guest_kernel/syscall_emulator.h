// Emulates the system calls of one sample. Makes none itself, and asks the outside only through the
// SampleEnvironment, as it runs in a worker whose seccomp filter allows no file access.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "emu/guest/syscall_handler.h"
#include "guest_kernel/state/state.h"

namespace shadowprof {

// Counts of known calls by number, and of all unknown ones. Trivially copyable, as it is sent to
// other processes as bytes.
struct SyscallCounts {
    static constexpr std::size_t numbers = 512;
    std::array<std::uint64_t, numbers> by_number{};
    std::uint64_t unknown = 0;
};

class SyscallEmulator : public SyscallHandler {
  public:
    // For one sample. `environment` must outlive it.
    SyscallEmulator(SampleEnvironment& environment, const SampleRules& rules)
        : state_(environment, rules) {}

    std::optional<SampleEnd> on_syscall(GuestThreads& threads, GuestSpace& space,
                                        std::uint64_t elapsed_ns) override;
    std::optional<SampleEnd> on_vdso(VdsoFunction function, GuestThreads& threads,
                                     GuestSpace& space, std::uint64_t elapsed_ns) override;

    const SyscallCounts& counts() const { return counts_; }
    // After a call that ended the sample: "NAME: reason". Empty before.
    const std::string& end_reason() const { return end_reason_; }

  private:
    SampleState state_;
    SyscallCounts counts_;
    std::string end_reason_;
};

}  // namespace shadowprof
