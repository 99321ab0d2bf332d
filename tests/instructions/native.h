// Runs cases on the bare processor, in a process under ptrace that can do nothing else: every
// system call kills it.
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

#include "case.h"

namespace shadowprof {

class NativeRunner {
  public:
    NativeRunner();
    ~NativeRunner();
    NativeRunner(const NativeRunner&) = delete;
    NativeRunner& operator=(const NativeRunner&) = delete;

    void run(const Case& test, Outcome& outcome);

  private:
    void start();
    void stop();
    void call(std::uint64_t number, std::array<std::uint64_t, 3> arguments);
    void isolate();
    bool set_state(const CpuState& cpu);
    bool get_state(CpuState& cpu);

    std::vector<std::byte> first_xstate_;  // includes state that CpuState lacks
    std::byte* code_ = nullptr;            // shared with the process
    std::byte* memory_ = nullptr;          // shared with the process
    std::byte* entry_ = nullptr;           // shared with the process
    pid_t pid_ = -1;
};

}  // namespace shadowprof
