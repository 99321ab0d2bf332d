// A snapshot's memory as a worker reads it, from a descriptor of /proc/PID/mem.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <utility>

#include "base/clock.h"
#include "base/files/fd.h"
#include "base/memory_reader.h"
#include "emu/guest/guest_memory.h"
#include "emu/guest/syscall_handler.h"
#include "emu/worker/own_place.h"

namespace shadowprof {

// A time by CLOCK_MONOTONIC. Once passed() has returned true, it remains so.
class Deadline {
  public:
    // 0: never passes.
    explicit Deadline(std::int64_t monotonic_ns = 0) : ns_(monotonic_ns) {}

    bool passed() {
        missed_ = missed_ || (ns_ != 0 && read_clock_ns(CLOCK_MONOTONIC) >= ns_);
        return missed_;
    }
    // Whether passed() has ever returned true.
    bool missed() const { return missed_; }

  private:
    std::int64_t ns_;
    bool missed_ = false;
};

class DescriptorPages final : public PageSource, public WritableMemory {
  public:
    // The memory behind `fd` must stand still until `deadline`, which must outlive this object.
    // Bytes that were not read in time are not returned. `flipped`: see StartMessage.
    DescriptorPages(UniqueFd fd, Deadline& deadline, GuestAddress flipped = {})
        : fd_(std::move(fd)), deadline_(deadline), flipped_(flipped) {}

    bool read_pages(GuestAddress from, std::span<std::byte> to) override {
        if (deadline_.missed()) return false;
        const auto got = pread(fd_.get(), to.data(), to.size(), static_cast<off_t>(from.value));
        const auto offset = flipped_.value - from.value;
        if (flipped_ != GuestAddress{} && offset < to.size()) to[offset] ^= std::byte{1};
        return !deadline_.passed() && got == static_cast<ssize_t>(to.size());
    }
    bool is_over() const override { return deadline_.missed(); }

    // These are for memory without a deadline.
    bool read(GuestAddress from, std::span<std::byte> to) override {
        const auto got = pread(fd_.get(), to.data(), to.size(), static_cast<off_t>(from.value));
        return got == static_cast<ssize_t>(to.size());
    }
    bool write(GuestAddress to, std::span<const std::byte> from) override {
        if (put(to, from)) return true;
        const ForeignStackGrowth growth;
        return put(to, from);
    }

  private:
    bool put(GuestAddress to, std::span<const std::byte> from) const {
        const auto bytes =
            pwrite(fd_.get(), from.data(), from.size(), static_cast<off_t>(to.value));
        return bytes == static_cast<ssize_t>(from.size());
    }

    UniqueFd fd_;
    Deadline& deadline_;
    GuestAddress flipped_;
};

// Ends the run at a system call that could not read what it needed in time, whatever its handler
// returned.
class PunctualSyscalls final : public SyscallHandler {
  public:
    PunctualSyscalls(SyscallHandler& handler, const Deadline& deadline)
        : handler_(handler), deadline_(deadline) {}

    bool wants_trace(const CpuState& cpu) const override { return handler_.wants_trace(cpu); }
    std::optional<SampleEnd> on_syscall(GuestThreads& threads, GuestSpace& space,
                                        std::uint64_t elapsed_ns) override {
        return in_time(handler_.on_syscall(threads, space, elapsed_ns));
    }
    std::optional<SampleEnd> before_turn(GuestThreads& threads, GuestSpace& space) override {
        return handler_.before_turn(threads, space);
    }
    std::optional<SampleEnd> on_vdso(VdsoFunction function, GuestThreads& threads,
                                     GuestSpace& space, std::uint64_t elapsed_ns) override {
        return in_time(handler_.on_vdso(function, threads, space, elapsed_ns));
    }
    std::optional<RegionEvent> on_client_request(CpuState& cpu, GuestSpace& space) override {
        return handler_.on_client_request(cpu, space);
    }

  private:
    std::optional<SampleEnd> in_time(std::optional<SampleEnd> end) const {
        if (deadline_.missed()) return SampleEnd::time;
        return end;
    }

    SyscallHandler& handler_;
    const Deadline& deadline_;
};

}  // namespace shadowprof
