#include "ptrace/process/launch.h"

#include <fcntl.h>
#include <paths.h>
#include <sys/personality.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/files/fd.h"
#include "ptrace/proc/program_check.h"
#include "ptrace/thread/ptrace_call.h"

namespace shadowprof {
namespace {

// The path that execvp searches if PATH is not set.
constexpr const char* default_search_path = "/bin:/usr/bin";

struct Pipe {
    UniqueFd read_end, write_end;
};

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("pipe");
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Makes a null-terminated array for exec. `strings` must outlive it.
std::vector<char*> exec_arguments(const std::vector<std::string>& strings) {
    std::vector<char*> arguments;
    for (const std::string& string : strings)
        arguments.push_back(const_cast<char*>(string.c_str()));
    arguments.push_back(nullptr);
    return arguments;
}

// Everything that the child needs, prepared before the fork.
struct ChildPlan {
    const char* path;
    char* const* arguments;
    char* const* shell_arguments;  // for a file that is no program but may be a shell script
    const InheritedSignals* signals;
    const InheritedLimits* limits;
    int go, report;
    bool fixed_addresses;
};

// Makes only async-signal-safe calls: other threads may have been running at the fork.
[[noreturn]] void run_child(const ChildPlan& plan) {
    char token = 0;
    ssize_t count = 0;
    do count = ::read(plan.go, &token, 1);
    while (count < 0 && errno == EINTR);
    if (count != 1) ::_exit(127);  // shadowprof is gone or could not attach
    plan.signals->restore();
    plan.limits->restore();
    if (plan.fixed_addresses) ::personality(ADDR_NO_RANDOMIZE);
    ::execv(plan.path, plan.arguments);
    if (errno == ENOEXEC) ::execv(_PATH_BSHELL, plan.shell_arguments);
    const int error_number = errno;
    static_cast<void>(!::write(plan.report, &error_number, sizeof error_number));
    ::_exit(127);
}

// A child between fork and exec. It is killed and reaped unless it becomes a target.
class Fledgling {
  public:
    Fledgling(WaitHub& hub, pid_t pid) : hub_(&hub), pid_(pid) {}
    Fledgling(const Fledgling&) = delete;
    Fledgling& operator=(const Fledgling&) = delete;
    ~Fledgling() {
        if (pid_ == 0) return;
        ::kill(pid_, SIGKILL);
        static_cast<void>(hub_->reap(pid_));
    }

    pid_t pid() const { return pid_; }
    void release() { pid_ = 0; }

    // Runs the child to the trap behind its exec. Returns nothing if it ended instead.
    Result<std::optional<StoppedThread>> run_to_exec() {
        for (;;) {
            TRY_ASSIGN(const WaitStatus status, hub_->wait_for(pid_));
            if (status.is_end()) {
                release();
                return std::optional<StoppedThread>{};
            }
            StoppedThread thread(*hub_, pid_, status);
            if (status.is_event(PTRACE_EVENT_EXEC)) {
                TRY(thread.settle());
                return std::optional(thread);
            }
            const bool own_signal = status.kind() == WaitStatus::Kind::signal_stop;
            TRY(thread.resume(own_signal ? status.signal() : 0));
        }
    }

  private:
    WaitHub* hub_;
    pid_t pid_;
};

// Explains why a child ended before its exec, from what it wrote to its pipe.
Error exec_error(const std::string& path, int report) {
    int error_number = 0;
    if (::read(report, &error_number, sizeof error_number) == sizeof error_number)
        return errno_error(fmt::format("execute '{}'", path), error_number);
    return {ErrorCode::gone, 0, fmt::format("'{}' was killed before it started", path)};
}

Result<std::string> find_checked_program(const std::string& name) {
    const char* search_path = std::getenv("PATH");
    TRY_ASSIGN(std::string path,
               resolve_program(name, search_path ? search_path : default_search_path));
    TRY(check_program(path, Credentials::of_this_process()));
    return path;
}

Result<void> attach_and_release(pid_t child, int go, Forks forks) {
    TRY(ptrace_call(PTRACE_SEIZE, child, 0, target_ptrace_options(forks), "PTRACE_SEIZE"));
    if (::write(go, "", 1) != 1) return errno_error("start the program");
    return {};
}

}  // namespace

InheritedSignals InheritedSignals::capture() {
    InheritedSignals signals;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &signals.mask_);
    for (int signal = 1; signal < static_cast<int>(signals.ignored_.size()); ++signal) {
        struct sigaction action {};
        const bool known = ::sigaction(signal, nullptr, &action) == 0;
        signals.ignored_[static_cast<std::size_t>(signal)] = known && action.sa_handler == SIG_IGN;
    }
    return signals;
}

void InheritedSignals::restore() const {
    for (int signal = 1; signal < static_cast<int>(ignored_.size()); ++signal) {
        struct sigaction action {};
        action.sa_handler = ignored_[static_cast<std::size_t>(signal)] ? SIG_IGN : SIG_DFL;
        ::sigaction(signal, &action, nullptr);  // fails for the few signals that nobody can change
    }
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

Result<std::unique_ptr<Target>> launch(WaitHub& hub, const LaunchOptions& options) {
    if (options.command.empty()) return Error{ErrorCode::usage, 0, "no program was named"};
    TRY_ASSIGN(const std::string path, find_checked_program(options.command.front()));
    const auto arguments = exec_arguments(options.command);
    std::vector<std::string> shell_command = options.command;
    shell_command.front() = path;
    shell_command.insert(shell_command.begin(), "sh");
    const auto shell_arguments = exec_arguments(shell_command);
    TRY_ASSIGN(Pipe go, make_pipe());
    TRY_ASSIGN(Pipe report, make_pipe());

    const pid_t pid = ::fork();
    if (pid < 0) return errno_error("fork");
    if (pid == 0) {
        // With its own write end open, the child would wait for ever if we die.
        go.write_end.reset();
        run_child({path.c_str(), arguments.data(), shell_arguments.data(), &options.signals,
                   &options.limits, go.read_end.get(), report.write_end.get(),
                   options.fixed_addresses});
    }
    Fledgling child(hub, pid);
    report.write_end.reset();
    TRY(attach_and_release(pid, go.write_end.get(), options.forks));
    TRY_ASSIGN(const auto leader, child.run_to_exec());
    if (!leader) return exec_error(path, report.read_end.get());
    child.release();
    return Target::adopt(hub, *leader, options.forks);
}

}  // namespace shadowprof
