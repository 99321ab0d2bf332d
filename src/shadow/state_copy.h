// What is copied of a stopped program so that its state can be recognised when an emulation comes
// by it.
#pragma once

#include <sys/types.h>

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
    // Before the stop: makes room for the copies.
    StateCopy(pid_t pid, pid_t replica_pid);
    // In a stop of the program. False: its stack cannot be read.
    bool take(const CpuState& cpu);
    // After the stop, as long as the replica is there: reads what take() has left for later.
    void finish();

    // After finish(). `before`: the registers at an earlier moment.
    AwaitedState state(const CpuState& before) const;

  private:
    void want(std::uint64_t pointer);
    void want_changed_pointers();
    void want_pointers_at(GuestAddress address);
    std::vector<bool> read(pid_t pid, std::vector<std::byte>& to, std::size_t first) const;
    void keep_readable(const std::vector<bool>& is_readable, std::size_t first);
    bool differs(std::size_t page, std::size_t offset) const;
    std::span<const std::byte> copied_at(GuestAddress address, std::size_t most) const;
    void add_changed(std::size_t page, AwaitedState& state) const;

    pid_t pid_, replica_pid_;
    CpuState cpu_;
    std::vector<GuestAddress> pages_;       // that were copied
    std::size_t compared_ = 0;              // of them, those that were read from the replica, too
    std::vector<std::byte> now_, earlier_;  // what they have, and had in the replica
};

}  // namespace shadowprof
