// bench_emulation WHAT FROM_MS INSTRUCTIONS PROGRAM [ARGUMENT...]
//
// Emulates a program in one sample of a new worker and prints the time and other figures as one
// line of JSON. The sample begins at the first instruction, or after FROM_MS milliseconds of native
// execution. WHAT selects what is traced and collected: see `loads`. INSTRUCTIONS limits the
// sample; 0: it ends by itself. The program is stopped meanwhile, and killed afterwards.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "guest_kernel/environment/environment_proc.h"
#include "guest_kernel/environment/environment_remote.h"
#include "profile/collect/process_profile.h"
#include "ptrace/proc/proc.h"
#include "ptrace/process/launch.h"
#include "ptrace/process/target.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/unwind/unwind.h"
#include "shadow/emulation/emulation_worker.h"
#include "shadow/schedule/sample_bursts.h"
#include "shadow/window/sample_syscalls.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t no_limit = std::uint64_t{1} << 62;

struct Load {
    std::string_view name;
    bool untraced;
    bool collected;
    bool value_bursts;
    bool all_values;
    bool reference_bursts;
    bool all_references;
};
constexpr Load loads[] = {
    {.name = "bare", .untraced = true},
    {.name = "blocks"},
    {.name = "edges-paths", .collected = true},
    {.name = "default", .collected = true, .value_bursts = true},
    {.name = "default-references",
     .collected = true,
     .value_bursts = true,
     .reference_bursts = true},
    {.name = "references-trace", .all_references = true},
    {.name = "references", .collected = true, .all_references = true},
    {.name = "values-trace", .all_values = true},
    {.name = "values", .collected = true, .all_values = true},
};

using Clock = std::chrono::steady_clock;

class Listener final : public SampleListener {
  public:
    Listener(SampleCollector* collector, SampleEnvironment& environment)
        : collector_(collector), environment_(environment) {}

    void on_thread(GuestThreads::Index) override {}
    void on_trace(GuestThreads::Index thread, std::span<const std::uint64_t> words,
                  const BlockTable& table) override {
        words_ += words.size();
        if (collector_) instructions_ += collector_->add(thread, words, table).instructions;
    }
    void on_emulated() override { emulated_ = Clock::now(); }
    std::vector<std::byte> on_request(std::span<const std::byte> request) override {
        return answer_environment_request(request, environment_);
    }
    std::optional<SampleEnd> on_step(CpuState&, std::span<const StepPage>) override {
        return SampleEnd::unsupported_instruction;
    }

    std::uint64_t words() const { return words_; }
    std::uint64_t instructions() const { return instructions_; }
    Clock::time_point emulated() const { return emulated_; }

  private:
    SampleCollector* collector_;
    SampleEnvironment& environment_;
    std::uint64_t words_ = 0;
    std::uint64_t instructions_ = 0;
    Clock::time_point emulated_;
};

RunLimits limits_of(const Load& load, std::uint64_t instructions) {
    RunLimits limits{.instructions = instructions ? instructions : no_limit,
                     .seed = 1,
                     .untraced = load.untraced};
    if (load.value_bursts) {
        limits.burst_period = value_burst_period;
        limits.value_instructions = value_burst_instructions;
    }
    if (load.reference_bursts) limits.reference_instructions = reference_burst_instructions;
    if (load.all_references) limits.burst_period = limits.reference_instructions = 1;
    if (load.all_values) limits.burst_period = limits.value_instructions = 1;
    return limits;
}

double seconds(Clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
}

void run_natively(WaitHub& hub, Target& target, std::chrono::milliseconds duration) {
    target.resume();
    const auto until = Clock::now() + duration;
    while (Clock::now() < until && !target.end()) {
        poll(nullptr, 0, 1);
        while (const auto event = hub.poll()) (void)target.handle(*event);
    }
}

Result<void> measure(const Load& load, std::uint64_t instructions, Target& target,
                     WorkerProcess& worker) {
    TRY_ASSIGN(auto stop, target.stop());
    if (stop.threads().empty()) return Error{ErrorCode::gone, 0, "the program has ended"};
    TRY_ASSIGN(const auto snapshot, stop.threads().front().snapshot());
    TRY_ASSIGN(auto captured, CapturedProcess::take(target.pid(), std::array{target.pid()}));
    TRY_ASSIGN(const auto text, read_maps_text(target.pid()));
    TRY_ASSIGN(const auto map, MemoryMap::parse(text));
    TRY_ASSIGN(const auto memory, open_process_memory(target.pid(), O_RDONLY));
    ProcEnvironment environment(std::move(captured), target.pid(),
                                ProcEnvironment::Frozen::process);

    ModuleTable modules;
    const bool references = load.reference_bursts || load.all_references;
    ProcessProfile profile(
        {.values = load.value_bursts || load.all_values,
         .references = references ? std::optional(ReorderWindow{}) : std::nullopt},
        modules);
    auto& collector = profile.add_collector();
    Listener listener(load.collected ? &collector : nullptr, environment);
    MapResolver resolver(map, modules);
    const SampleRules facts{.random_seed = 1};
    const std::array stack = {snapshot.cpu.rip};

    const auto collector_cpu = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const auto begin = Clock::now();
    collector.begin({.resolver = resolver, .stack = stack});
    TRY_ASSIGN(const auto outcome, worker.run_sample({.cpu = snapshot.cpu,
                                                      .limits = limits_of(load, instructions),
                                                      .maps_text = text,
                                                      .facts = std::as_bytes(std::span(&facts, 1)),
                                                      .memory_fd = memory.get()},
                                                     listener));
    collector.end();
    const auto whole = seconds(Clock::now() - begin);
    const auto report = SyscallReport::parse(outcome.syscall_report);
    fmt::print(R"({{"end":"{} {}","instructions":{},"seconds":{:.6f},"emulation_seconds":{:.6f},)"
               R"("collector_cpu_seconds":{:.6f},"worker_cpu_seconds":{:.6f},"words":{},)"
               R"("translation_seconds":{:.6f},"translated_instructions":{},"pages_fetched":{},)"
               R"("page_fetches":{},"single_stepped":{},"untranslatable":{}}})"
               "\n",
               name(outcome.result.end), report ? report->end_reason : "",
               load.collected ? listener.instructions() : outcome.result.instructions, whole,
               seconds(listener.emulated() - begin),
               1e-9 * static_cast<double>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - collector_cpu),
               1e-9 * static_cast<double>(outcome.counters.cpu_ns), listener.words(),
               1e-9 * static_cast<double>(outcome.counters.translation_ns),
               outcome.counters.translated_instructions, outcome.counters.pages_fetched,
               outcome.counters.page_fetches, outcome.result.single_stepped,
               outcome.counters.untranslatable_instructions);
    return {};
}

Result<void> run(const Load& load, std::chrono::milliseconds from, std::uint64_t instructions,
                 std::vector<std::string> command) {
    const auto signals = InheritedSignals::capture();
    prepare_sigchld();
    WaitHub hub;
    TRY_ASSIGN(auto worker, start_emulation_worker());
    TRY_ASSIGN(auto target, launch(hub, {.command = std::move(command), .signals = signals}));
    if (from.count()) run_natively(hub, *target, from);
    const auto measured = measure(load, instructions, *target, worker);
    kill(target->pid(), SIGKILL);
    kill(worker.pid(), SIGKILL);
    return measured;
}

}  // namespace
}  // namespace shadowprof

int main(int argc, char** argv) {
    using namespace shadowprof;
    if (argc == 2 && argv[1] == worker_subcommand) return run_emulation_worker(argv);
    const Load* load = nullptr;
    for (const auto& each : loads)
        if (argc > 4 && each.name == argv[1]) load = &each;
    if (!load) {
        fmt::print(stderr,
                   "usage: bench_emulation WHAT FROM_MS INSTRUCTIONS PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    const auto done = run(*load, std::chrono::milliseconds(std::stoll(argv[2])),
                          std::stoull(argv[3]), {argv + 4, argv + argc});
    if (!done) fmt::print(stderr, "bench_emulation: {}\n", done.error().message);
    return done ? 0 : 1;
}
