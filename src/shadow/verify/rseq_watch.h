// Watches whether the kernel told a thread something, while it ran an interval natively, that its
// emulation could not know: another processor's number, or an abort of a restartable sequence
// (rseq(2)).
#pragma once

#include <array>
#include <cstddef>

#include "base/result.h"
#include "ptrace/remote/rseq_area.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

class RseqWatch {
  public:
    // To be called when `thread` is about to begin an interval. Reads what the kernel has told it
    // so far. Error: gone.
    static Result<RseqWatch> begin(const StoppedThread& thread);

    // The memory where the kernel tells it. Only a system call moves it.
    const RseqArea& area() const { return area_; }

    // To be called when the thread has come to the interval's end. True if it was moved to another
    // processor, or has restartable sequences, as nothing tells whether one of them was aborted.
    bool may_have_parted(const StoppedThread& thread) const;

  private:
    // As much of struct rseq as kernels write to; zeros if there is none.
    struct Contents {
        std::array<std::byte, 8> processor;  // cpu_id_start, cpu_id
        std::array<std::byte, 8> sequence;   // rseq_cs
        std::array<std::byte, 4> flags;
        std::array<std::byte, 12> place;  // node_id, mm_cid; only newer kernels write here
    };

    RseqWatch(const RseqArea& area, const Contents& begin) : area_(area), begin_(begin) {}
    static Contents read(const StoppedThread& thread, const RseqArea& area);

    RseqArea area_;
    Contents begin_;
};

}  // namespace shadowprof
