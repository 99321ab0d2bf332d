// What is copied of a stopped program so that its state can be recognised when an emulation comes
// by it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/cpu_state.h"
#include "base/guest_address.h"
#include "emu/awaited_state.h"

namespace shadowprof {

// Interpreters are in the same place with the same registers and the same stack again and again,
// and only the memory behind them tells when. So the pages are copied that the registers point to,
// and those that words there point to. What differs from the same pages of a replica, which stands
// still at an earlier moment, changes with time: that has to agree.
class StateCopy {
  public:
    // In a stop of the program, with descriptors of its memory and the replica's.
    static StateCopy take(const CpuState& cpu, int memory_fd, int replica_memory_fd);

    const CpuState& cpu() const { return cpu_; }
    // `before`: the registers at an earlier moment.
    AwaitedState state(const CpuState& before) const;

  private:
    StateCopy(const CpuState& cpu, int memory_fd, int replica_memory_fd);
    void copy(std::uint64_t pointer);
    void copy_changed_pointers();
    void copy_pointers_at(GuestAddress address);
    bool differs(std::size_t page, std::size_t offset) const;
    std::span<const std::byte> copied_at(GuestAddress address, std::size_t most) const;
    void add_changed(std::size_t page, AwaitedState& state) const;

    CpuState cpu_;
    int memory_fd_, replica_memory_fd_;
    std::vector<GuestAddress> pages_;       // that were copied
    std::vector<std::byte> now_, earlier_;  // what they have, and had in the replica
};

}  // namespace shadowprof
