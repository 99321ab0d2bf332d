// Decodes what waitpid says about a process or thread.
#pragma once

#include <cstdint>
#include <string>

namespace shadowprof {

class WaitStatus {
  public:
    enum class Kind : std::uint8_t {
        exited,          // exit_code()
        killed,          // by signal()
        signal_stop,     // signal() is about to be delivered, unless the tracer drops it
        group_stop,      // signal() has stopped the whole process, as by Ctrl-Z
        interrupt_stop,  // PTRACE_INTERRUPT, the first stop of a new tracee, or the end of a group
                         // stop
        syscall_stop,    // entry to or exit from a system call (PTRACE_SYSCALL)
        event_stop,      // event() happened
        other,
    };

    // `raw` is the status that waitpid stores for a plain child, or for a tracee attached by
    // PTRACE_SEIZE with PTRACE_O_TRACESYSGOOD.
    static WaitStatus decode(int raw);

    // Of a process whose end nobody told: Kind::other.
    static WaitStatus unknown() { return {Kind::other, 0}; }

    Kind kind() const { return kind_; }
    // Needs an exited process.
    int exit_code() const { return value_; }
    // Needs a killed process or thread, or a signal or group stop.
    int signal() const { return value_; }
    // PTRACE_EVENT_CLONE, PTRACE_EVENT_EXEC, ... Needs an event stop.
    int event() const { return value_; }

    // Whether the process or thread has ended.
    bool is_end() const { return kind_ == Kind::exited || kind_ == Kind::killed; }
    bool is_event(int ptrace_event) const {
        return kind_ == Kind::event_stop && value_ == ptrace_event;
    }
    // Whether it is stopped where the kernel checks for signals before it returns to user mode. The
    // kernel restarts a system call according to registers that are written now.
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
