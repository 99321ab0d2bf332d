// Copies the state of a stopped program, to recognise it when an emulation reaches it.
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
    // Whether a page is there; if empty, any may be. Pages that are not there are not compared.
    std::function<bool(GuestAddress page)> has = {};
};
// The pages of a process that has stood still since then.
EarlierPages pages_of(pid_t pid);

// Buffers for the copies. They are touched when they are made, as that takes longer than a short
// window.
struct StateRoom {
    // More than the pages of a state, as some words only look like pointers.
    static constexpr std::size_t max_pages = 96;

    std::vector<std::byte> now = std::vector<std::byte>(max_pages * page_bytes);
    std::vector<std::byte> earlier = now;
};

// An interpreter comes to the same place with the same registers and the same stack again and
// again, and only the memory behind them tells these moments apart. So this copies the pages that
// the registers point to, and those that words there point to. Bytes that differ from an earlier
// moment change with time, so these must agree.
class StateCopy {
  public:
    // `room` must outlive the copy, and nobody else may use it.
    StateCopy(pid_t pid, EarlierPages earlier, StateRoom& room);
    // To be called in a stop of the program. Returns false if its stack cannot be read. `foreign`
    // is memory that the kernel writes to, which says nothing about the program.
    bool take(const CpuState& cpu, MemoryRange foreign = {});
    // To be called after the stop, while earlier pages can be read. Reads what take() left for
    // later.
    void finish();

    // To be called after finish(). `before` are the registers at an earlier moment.
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
    std::vector<GuestAddress> pages_;  // the copied pages
    std::size_t compared_ = 0;         // how many have been compared with their earlier bytes
    StateRoom* room_;                  // bytes of the pages, now and earlier
};

}  // namespace shadowprof
