// A signal of which the tracer is told by a count.
#pragma once

#include <signal.h>
#include <sys/eventfd.h>

#include <utility>

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

// Blocks a signal, so that the process that the user sees can take it from a descriptor. If
// shadowprof's caller had set the signal to be ignored, it stays ignored. Create it before the fork
// that makes the tracer. The destructor restores the mask of signals.
class CountedSignal {
  public:
    // Error: system.
    static Result<CountedSignal> take(int signal);

    CountedSignal(CountedSignal&&) = default;
    CountedSignal& operator=(CountedSignal&&) = delete;
    ~CountedSignal();

    bool is_taken() const { return static_cast<bool>(arrived_); }
    // Readable when the signal has come. -1 if it is ignored.
    int fd() const { return arrived_.get(); }
    // Takes those that have come, and returns how many.
    unsigned take_arrived();
    // Lets the signal act as it does by default, if it is pending.
    void let_through();

    void count() { ::eventfd_write(counted_.get(), 1); }
    // An eventfd.
    int counted() const { return counted_.get(); }

    // To be called in the tracer: the signal is no longer blocked.
    void leave_to_other();

  private:
    CountedSignal(int signal, UniqueFd counted) : signal_(signal), counted_(std::move(counted)) {}
    sigset_t only_it() const;

    int signal_;
    UniqueFd arrived_, counted_;
    sigset_t before_;
};

}  // namespace shadowprof
