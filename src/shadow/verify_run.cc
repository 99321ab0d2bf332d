#include "shadow/verify_run.h"

#include <fcntl.h>
#include <sys/ptrace.h>

#include <csignal>
#include <optional>

#include "emu/worker_process.h"
#include "ptrace/hardware_breakpoint.h"
#include "ptrace/launch.h"
#include "ptrace/proc.h"
#include "ptrace/process_memory.h"
#include "ptrace/rseq_area.h"
#include "ptrace/target.h"
#include "shadow/emulation_worker.h"
#include "shadow/state_comparison.h"

namespace shadowprof {
namespace {

constexpr std::size_t kept_divergences = 20;
constexpr std::uint64_t no_limit = std::uint64_t{1} << 62;

// Counts; nothing is asked of it in an exact run.
class CountingListener final : public SampleListener {
  public:
    void on_trace(std::span<const std::uint64_t> words, const BlockTable& table) override {
        for (auto i = words.size(); i-- > 0;)
            if (const auto* block = table.find(words[i])) instructions += block->instructions;
    }
    void on_emulated() override {}
    std::vector<std::byte> on_request(std::span<const std::byte>) override { return {}; }
    std::optional<SampleEnd> on_step(CpuState&, std::span<const StepPage>) override {
        return SampleEnd::unsupported_instruction;
    }

    std::uint64_t instructions = 0;
};

// What the emulation of an interval met at its end, and where the native run has to stop.
enum class Boundary { syscall, vdso_call, instruction, fault };

class Verification {
  public:
    Verification(Target& target, StoppedThread& thread, WorkerProcess& worker,
                 const VerifyOptions& options, VerifyOutcome& outcome)
        : target_(target), thread_(thread), worker_(worker), options_(options), outcome_(outcome) {}

    // Until the program ends (ErrorCode::gone) or cannot be verified any further.
    Result<void> run();

  private:
    Result<SampleOutcome> emulate(const CpuState& cpu);
    Result<bool> interval();
    std::optional<Boundary> boundary_of(const SampleOutcome& emulated);
    Result<bool> run_natively_to(Boundary boundary, const SampleOutcome& emulated);
    Result<void> compare(Boundary boundary, const SampleOutcome& emulated);
    Result<bool> pass(Boundary boundary, const SampleOutcome& emulated);
    Result<bool> pass_syscall();
    Result<bool> pass_vdso_call();
    Result<void> settle_after_surprise(const WaitStatus& status);
    void note_divergence(std::vector<std::string> differences) {
        ++outcome_.diverged;
        if (outcome_.divergences.size() < kept_divergences)
            outcome_.divergences.push_back({outcome_.intervals, std::move(differences)});
    }
    bool stop_early(std::string reason) {
        outcome_.stopped_early = std::move(reason);
        return false;
    }

    Target& target_;
    StoppedThread& thread_;
    WorkerProcess& worker_;
    const VerifyOptions& options_;
    VerifyOutcome& outcome_;
    UniqueFd memory_;
    std::uint64_t interval_instructions_ = 0;
};

Result<void> Verification::run() {
    while (true) {
        if (options_.max_instructions && outcome_.instructions >= options_.max_instructions) {
            stop_early("the limit of instructions was reached");
            return {};
        }
        TRY_ASSIGN(const bool goes_on, interval());
        if (!goes_on) return {};
    }
}

// Emulates to the next boundary, lets the program run there, compares, and passes the boundary.
// False: the program cannot be verified any further.
Result<bool> Verification::interval() {
    TRY_ASSIGN(const auto start, thread_.snapshot());
    TRY_ASSIGN(const auto emulated, emulate(start.cpu));
    const auto boundary = boundary_of(emulated);
    if (!boundary)
        return stop_early("the emulation ended by " + std::string(name(emulated.result.end)));
    TRY_ASSIGN(const bool arrived, run_natively_to(*boundary, emulated));
    if (!arrived) return outcome_.stopped_early.empty();
    TRY(compare(*boundary, emulated));
    return pass(*boundary, emulated);
}

Result<SampleOutcome> Verification::emulate(const CpuState& cpu) {
    TRY_ASSIGN(const auto text, read_maps_text(target_.pid()));
    TRY_ASSIGN(memory_, open_process_memory(target_.pid(), O_RDONLY));
    CountingListener listener;
    auto outcome = worker_.run_sample({.cpu = cpu,
                                       .limits = {.instructions = no_limit},
                                       .maps_text = text,
                                       .facts = {},
                                       .memory_fd = memory_.get(),
                                       .exact = true},
                                      listener);
    interval_instructions_ = listener.instructions;
    return outcome;
}

std::optional<Boundary> Verification::boundary_of(const SampleOutcome& emulated) {
    switch (emulated.result.end) {
        case SampleEnd::stopped:
            return emulated.result.syscalls ? Boundary::syscall : Boundary::vdso_call;
        case SampleEnd::unsupported_instruction:
            return Boundary::instruction;
        case SampleEnd::fault:
            return Boundary::fault;
        default:
            return std::nullopt;
    }
}

// True: the thread stands where the emulation ended. False: something else came first, and the
// thread stands behind that.
Result<bool> Verification::run_natively_to(Boundary boundary, const SampleOutcome& emulated) {
    std::optional<HardwareBreakpoint> breakpoint;
    if (boundary == Boundary::vdso_call || boundary == Boundary::instruction) {
        TRY_ASSIGN(const auto now, thread_.registers());
        if (now.rip == emulated.cpu.rip.value) return true;
        TRY_ASSIGN(auto set, HardwareBreakpoint::set(thread_, emulated.cpu.rip));
        breakpoint.emplace(std::move(set));
    }
    TRY_ASSIGN(const auto status, thread_.advance(StoppedThread::Advance::to_syscall));
    using Kind = WaitStatus::Kind;
    if (boundary == Boundary::syscall && status.kind() == Kind::syscall_stop) return true;
    if (status.kind() == Kind::signal_stop) {
        TRY_ASSIGN(const auto now, thread_.registers());
        const bool there = now.rip == emulated.cpu.rip.value;
        if (breakpoint && status.signal() == SIGTRAP && there) return true;
        if (boundary == Boundary::fault && status.signal() == emulated.result.signal && there)
            return true;
    }
    breakpoint.reset();
    TRY(settle_after_surprise(status));
    return false;
}

// A signal from outside came first, or native and emulated execution took different ways.
Result<void> Verification::settle_after_surprise(const WaitStatus& status) {
    if (status.kind() == WaitStatus::Kind::signal_stop) {
        TRY_ASSIGN(const auto info, thread_.signal_info());
        if (info.si_code <= 0 || status.signal() == SIGCHLD || status.signal() == SIGALRM) {
            ++outcome_.excluded[fmt::format("signal {} came from outside", status.signal())];
            TRY(thread_.advance(StoppedThread::Advance::one_instruction, status.signal()));
            return {};
        }
    }
    note_divergence({"the native run came to: " + status.describe()});
    if (status.kind() == WaitStatus::Kind::syscall_stop) {
        TRY(pass_syscall());
    } else if (status.kind() == WaitStatus::Kind::signal_stop) {
        TRY(thread_.advance(StoppedThread::Advance::one_instruction, status.signal()));
    }
    return {};
}

Result<void> Verification::compare(Boundary boundary, const SampleOutcome& emulated) {
    TRY_ASSIGN(auto native, thread_.snapshot());
    if (boundary == Boundary::syscall) {
        // The kernel has put -ENOSYS into RAX already.
        TRY_ASSIGN(const auto registers, thread_.registers());
        native.cpu[Gpr::rax] = registers.orig_rax;
    }
    auto found = differences(native.cpu, emulated.cpu);
    // The kernel writes there when it preempts the thread.
    TRY_ASSIGN(const auto rseq, read_rseq_area(thread_));
    TRY_ASSIGN(const auto memory, worker_.compare_memory({rseq.start, rseq.end}));
    for (std::size_t i = 0;
         i < std::min<std::size_t>(memory.pages_different, ComparedMessage::max_differences); ++i) {
        const auto& d = memory.differences[i];
        found.push_back(fmt::format("memory at {:#x}: native {:#04x}, emulated {:#04x}",
                                    d.address.value, d.native, d.emulated));
    }
    outcome_.pages_compared += memory.pages_compared;
    outcome_.instructions += interval_instructions_;
    if (!found.empty()) {
        found.insert(found.begin(), fmt::format("ended at {:#x}", emulated.cpu.rip.value));
        note_divergence(std::move(found));
    }
    ++outcome_.intervals;
    return {};
}

Result<bool> Verification::pass(Boundary boundary, const SampleOutcome& emulated) {
    switch (boundary) {
        case Boundary::syscall:
            ++outcome_.boundaries["system call"];
            return pass_syscall();
        case Boundary::vdso_call:
            ++outcome_.boundaries["vDSO call"];
            return pass_vdso_call();
        case Boundary::instruction: {
            ++outcome_.boundaries["instruction"];
            ++outcome_.native_instructions;
            TRY_ASSIGN(const auto status, thread_.advance(StoppedThread::Advance::one_instruction));
            // What the instruction raises is the program's, unless it is the step itself.
            if (status.kind() == WaitStatus::Kind::signal_stop && status.signal() != SIGTRAP)
                TRY(thread_.advance(StoppedThread::Advance::one_instruction, status.signal()));
            return true;
        }
        case Boundary::fault:
            ++outcome_.boundaries["fault"];
            TRY(thread_.advance(StoppedThread::Advance::one_instruction, emulated.result.signal));
            return true;
    }
    return false;
}

// From the entry of a system call to behind it.
Result<bool> Verification::pass_syscall() {
    using Kind = WaitStatus::Kind;
    while (true) {
        TRY_ASSIGN(const auto status, thread_.advance(StoppedThread::Advance::to_syscall));
        if (status.kind() == Kind::syscall_stop) break;
        if (status.is_event(PTRACE_EVENT_CLONE))
            return stop_early("the program has more than one thread");
        if (status.kind() == Kind::signal_stop)
            return stop_early("a signal came within a system call");
    }
    TRY_ASSIGN(const auto kind, read_exe_kind(target_.pid()));
    if (kind != ProgramKind::elf_x86_64)
        return stop_early("the program executed one that is not for x86-64");
    return true;
}

// From the entry of a vDSO function to behind its return.
Result<bool> Verification::pass_vdso_call() {
    TRY_ASSIGN(const auto registers, thread_.registers());
    ProcessMemory memory(target_.pid());
    const auto return_address = read_value<std::uint64_t>(memory, {registers.rsp});
    if (!return_address) return stop_early("a vDSO function was called without a stack");
    TRY_ASSIGN(auto breakpoint, HardwareBreakpoint::set(thread_, {*return_address}));
    TRY_ASSIGN(const auto status, thread_.advance(StoppedThread::Advance::run));
    if (status.kind() != WaitStatus::Kind::signal_stop)
        return stop_early("the program went astray in the vDSO");
    if (status.signal() != SIGTRAP) return stop_early("a signal came within a vDSO call");
    return true;
}

Result<void> verify(Target& target, WorkerProcess& worker, const VerifyOptions& options,
                    VerifyOutcome& outcome) {
    TRY_ASSIGN(auto stop, target.stop());
    if (stop.threads().empty()) return {};
    Verification verification(target, stop.threads().front(), worker, options, outcome);
    const auto result = verification.run();
    if (!result && result.error().code != ErrorCode::gone) return result;
    return {};
}

// Kills a worker and waits for its end.
class WorkerReaper {
  public:
    WorkerReaper(WaitHub& hub, pid_t worker) : hub_(hub), worker_(worker) {}
    ~WorkerReaper() {
        kill(worker_, SIGKILL);
        (void)hub_.reap(worker_);
    }
    WorkerReaper(const WorkerReaper&) = delete;
    WorkerReaper& operator=(const WorkerReaper&) = delete;

  private:
    WaitHub& hub_;
    pid_t worker_;
};

void run_to_end(WaitHub& hub, Target& target) {
    while (!target.end()) {
        const auto status = hub.wait_for(target.pid());
        if (!status) return;
        hub.put_back({target.pid(), *status});
        while (const auto event = hub.poll()) (void)target.handle(*event);
    }
}

}  // namespace

Result<VerifyOutcome> verify_target(const VerifyOptions& options) {
    const auto signals = InheritedSignals::capture();
    prepare_sigchld();
    WaitHub hub;
    TRY_ASSIGN(auto worker, start_emulation_worker());
    const WorkerReaper reaper(hub, worker.pid());
    VerifyOutcome outcome;
    TRY_ASSIGN(auto target, launch(hub, {.command = options.command, .signals = signals}));
    const auto verified = verify(*target, worker, options, outcome);
    run_to_end(hub, *target);
    if (!verified) return verified.error();
    return outcome;
}

}  // namespace shadowprof
