// What is copied of a stopped program so that its state can be recognised when an emulation comes
// by it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/cpu_state.h"
#include "base/guest_address.h"
#include "base/memory_range.h"
#include "emu/watch/awaited_state.h"

namespace shadowprof {

// Whole pages of a program as they were at an earlier moment.
struct EarlierPages {
    // See read_pages().
    std::function<std::vector<bool>(std::span<const GuestAddress> pages, std::span<std::byte> to)>
        read;
    // Whether a page is there; without it, any may be. Pages that are not there are not compared.
    std::function<bool(GuestAddress page)> has = {};
};
// Those of a process that stands still since then.
EarlierPages pages_of(pid_t pid);

// Where copies are made. It is touched when it is made, as that takes longer than a short window.
struct StateRoom {
    // There is room for more pages than a state has pointers: some words that may be pointers are
    // none.
    static constexpr std::size_t most_pages = 96;

    std::vector<std::byte> now = std::vector<std::byte>(most_pages * page_bytes);
    std::vector<std::byte> earlier = now;
};

// Interpreters are in the same place with the same registers and the same stack again and again,
// and only the memory behind them tells when. So the pages are copied that the registers point to,
// and those that words there point to. What differs from the same pages at an earlier moment
// changes with time: that has to agree.
class StateCopy {
  public:
    // `room` must outlive it, and is used by no other.
    StateCopy(pid_t pid, EarlierPages earlier, StateRoom& room);
    // In a stop of the program. False: its stack cannot be read. `foreign`: what the kernel writes
    // to, which says nothing of the program.
    bool take(const CpuState& cpu, MemoryRange foreign = {});
    // After the stop, as long as earlier pages can be read: reads what take() has left for later.
    void finish();

    // After finish(). `before`: the registers at an earlier moment.
    AwaitedState state(const CpuState& before) const;

  private:
    void want(std::uint64_t pointer);
    void want_changed_pointers();
    void want_pointers_at(GuestAddress address);
    std::vector<bool> read_now(std::size_t first);
    std::vector<bool> read_earlier(std::size_t first);
    void keep_readable(const std::vector<bool>& is_readable, std::size_t first);
    bool differs(std::size_t page, std::size_t offset) const;
    std::span<const std::byte> copied_at(GuestAddress address, std::size_t most) const;
    void add_changed(std::size_t page, AwaitedState& state) const;

    pid_t pid_;
    EarlierPages earlier_pages_;
    CpuState cpu_;
    MemoryRange foreign_;
    std::vector<GuestAddress> pages_;  // that were copied
    std::size_t compared_ = 0;         // of them, those whose earlier bytes are read, too
    StateRoom* room_;                  // what they have, and had
};

}  // namespace shadowprof
