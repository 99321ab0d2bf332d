// What waitpid says about a process or thread, decoded in one place.
#pragma once

#include <cstdint>
#include <string>

namespace shadowprof {

class WaitStatus {
  public:
    enum class Kind : std::uint8_t {
        exited,          // exit_code()
        killed,          // by signal()
        signal_stop,     // signal() is about to be delivered; the tracer decides
        group_stop,      // the whole process was stopped by signal(), as by Ctrl-Z
        interrupt_stop,  // PTRACE_INTERRUPT, the first stop of a new tracee, or the end of a group
                         // stop
        syscall_stop,    // entry to or exit from a system call (PTRACE_SYSCALL)
        event_stop,      // event() happened
        other,
    };

    // `raw` as waitpid stores it, of a tracee attached by PTRACE_SEIZE with PTRACE_O_TRACESYSGOOD,
    // or of a plain child.
    static WaitStatus decode(int raw);

    Kind kind() const { return kind_; }
    // Needs an exited process.
    int exit_code() const { return value_; }
    // Needs a killed process or thread, or a signal or group stop.
    int signal() const { return value_; }
    // PTRACE_EVENT_CLONE, PTRACE_EVENT_EXEC, ... of an event stop.
    int event() const { return value_; }

    // The process or thread is no more.
    bool is_end() const { return kind_ == Kind::exited || kind_ == Kind::killed; }
    bool is_event(int ptrace_event) const {
        return kind_ == Kind::event_stop && value_ == ptrace_event;
    }
    // Stopped where the kernel looks for signals before it goes back to user mode: registers that
    // are written now are those that a restart of a system call goes by.
    bool is_trap() const { return kind_ == Kind::interrupt_stop || kind_ == Kind::group_stop; }

    // For messages: "exited with status 3", "killed by signal 9".
    std::string describe() const;

    friend bool operator==(const WaitStatus&, const WaitStatus&) = default;

  private:
    WaitStatus(Kind kind, int value) : kind_(kind), value_(value) {}

    Kind kind_;
    int value_;
};

}  // namespace shadowprof
