// Reads the kernel's symbols beside, as that takes some 0.1 s, and tells with them why threads were
// in the kernel.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "ptrace/clock/kernel_symbols.h"

namespace shadowprof {

class KernelEntries {
  public:
    KernelEntries() = default;
    KernelEntries(const KernelEntries&) = delete;
    KernelEntries& operator=(const KernelEntries&) = delete;
    ~KernelEntries() {
        if (reader_.joinable()) reader_.join();
    }

    // Returns nothing as long as the symbols are being read, which the first call begins. If the
    // kernel does not tell them, all causes are unknown. `calls`: see KernelSymbols::entry.
    std::optional<KernelEntry> entry(std::span<const std::uint64_t> calls);
    // Waits until the symbols are read.
    void wait() const {
        if (result_.valid()) result_.wait();
    }

  private:
    std::future<std::unique_ptr<const KernelSymbols>> result_;
    std::unique_ptr<const KernelSymbols> symbols_;
    bool is_read_ = false;
    std::thread reader_;
};

}  // namespace shadowprof
