// Worker processes: this test program starts itself as a worker.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "base/clock.h"
#include "emu/worker_main.h"
#include "emu/worker_process.h"

namespace shadowprof::worker_test {
namespace {

constexpr const char* worker_argument = "worker-of-the-test";

// Asks the supervisor about every call, and reports how many there were.
class AskingSyscalls final : public SampleSyscalls {
    struct Handler final : SyscallHandler {
        explicit Handler(OutsideChannel& channel) : outside(channel) {}
        std::optional<SampleEnd> on_syscall(GuestThreads& threads, GuestSpace&,
                                            std::uint64_t) override {
            ++calls;
            auto& cpu = threads.cpu();
            const auto number = static_cast<std::uint64_t>(cpu[Gpr::rax]);
            const auto answer = outside.call(std::as_bytes(std::span(&number, 1)));
            if (!answer || answer->size() != sizeof number) return SampleEnd::unsafe_syscall;
            std::memcpy(&cpu[Gpr::rax], answer->data(), sizeof number);
            return std::nullopt;
        }
        std::optional<SampleEnd> on_vdso(VdsoFunction, GuestThreads&, GuestSpace&,
                                         std::uint64_t) override {
            return SampleEnd::unsafe_syscall;
        }
        OutsideChannel& outside;
        std::uint64_t calls = 0;
    };

  public:
    std::unique_ptr<SyscallHandler> begin(std::span<const std::byte>,
                                          OutsideChannel& outside) override {
        return std::make_unique<Handler>(outside);
    }
    std::vector<std::byte> report(const SyscallHandler& handler) override {
        const auto calls = std::as_bytes(std::span(&static_cast<const Handler&>(handler).calls, 1));
        return {calls.begin(), calls.end()};
    }
};

class Collecting final : public SampleListener {
  public:
    void on_thread(GuestThreads::Index thread) override { announced.insert(thread); }
    void on_trace(GuestThreads::Index thread, std::span<const std::uint64_t> words,
                  const BlockTable& table) override {
        unknown += !announced.contains(thread);
        for (auto i = words.size(); i-- > 0;) {
            const auto* block = table.find(words[i]);
            if (!block || !block->instructions) {
                ++unknown;
                return;
            }
            instructions += block->instructions;
            i -= std::min<std::size_t>(i, block->value_words);
        }
    }
    void on_emulated() override { ++emulated; }
    std::vector<std::byte> on_request(std::span<const std::byte> request) override {
        ++requests;
        if (answer_delay_us) usleep(answer_delay_us);
        return {request.begin(), request.end()};
    }
    std::optional<SampleEnd> on_step(CpuState& cpu, std::span<const StepPage> pages) override {
        ++steps;
        dirty_pages = pages.size();
        if (!step_length) return SampleEnd::unsupported_instruction;
        cpu.rip = cpu.rip + step_length;
        return std::nullopt;
    }

    std::set<GuestThreads::Index> announced;
    std::uint64_t instructions = 0, unknown = 0;
    int emulated = 0, requests = 0, steps = 0;
    std::uint64_t step_length = 0;
    std::size_t dirty_pages = 0;
    unsigned answer_delay_us = 0;
};

// A process that only holds memory: `code` at a fixed place, a stack above it.
class Snapshot {
  public:
    static constexpr std::uint64_t code_at = 0x5000'0000'0000;
    static constexpr std::uint64_t data_at = code_at + 0x10000;
    static constexpr std::uint64_t stack_top = data_at + 0x8000;

    explicit Snapshot(std::span<const std::uint8_t> code) {
        place(code_at, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
        place(data_at, 0x10000, PROT_READ | PROT_WRITE);
        std::memcpy(reinterpret_cast<void*>(code_at), code.data(), code.size());
        pid_ = fork();
        if (pid_ == 0)
            while (true) pause();
        munmap(reinterpret_cast<void*>(code_at), page_bytes);
        munmap(reinterpret_cast<void*>(data_at), 0x10000);
        memory_.reset(open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDONLY | O_CLOEXEC));
        // Only what was placed: the rest of this program is of no interest.
        maps_ = fmt::format("{:x}-{:x} rwxp 0 0:0 0 \n{:x}-{:x} rw-p 0 0:0 0 \n", code_at,
                            code_at + page_bytes, data_at, data_at + 0x10000);
    }
    ~Snapshot() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }

    SampleRequest request(std::uint64_t instructions = 1'000'000) const {
        SampleRequest result{.cpu = {},
                             .more_threads = {},
                             .limits = {.instructions = instructions},
                             .maps_text = maps_,
                             .facts = {},
                             .memory_fd = memory_.get()};
        result.cpu.rip = {code_at};
        result.cpu[Gpr::rsp] = stack_top;
        return result;
    }

  private:
    static void place(std::uint64_t at, std::size_t bytes, int protection) {
        REQUIRE(mmap(reinterpret_cast<void*>(at), bytes, protection,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED);
    }
    pid_t pid_ = -1;
    UniqueFd memory_;
    std::string maps_;
};

// A worker, and how it ended.
class TestWorker {
  public:
    TestWorker() : process_(start()) {}
    ~TestWorker() {
        kill(process_.pid(), SIGKILL);
        waitpid(process_.pid(), nullptr, 0);
    }
    WorkerProcess& operator*() { return process_; }
    WorkerProcess* operator->() { return &process_; }
    int wait_for_end() const {
        int status = 0;
        siginfo_t info = {};
        waitid(P_PID, static_cast<id_t>(process_.pid()), &info, WEXITED | WNOWAIT);
        status = info.si_code == CLD_EXITED ? -info.si_status : info.si_status;
        return status;
    }

  private:
    static WorkerProcess start() {
        const std::array arguments = {"worker_test", worker_argument};
        auto started = WorkerProcess::start(arguments);
        REQUIRE(started);
        return std::move(*started);
    }
    WorkerProcess process_;
};

// loop: inc rax ; jmp loop
constexpr std::array<std::uint8_t, 5> endless = {0x48, 0xff, 0xc0, 0xeb, 0xfb};

MemoryMap mappings_of(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/maps", pid));
    auto map = MemoryMap::parse(std::string{std::istreambuf_iterator<char>(in), {}});
    REQUIRE(map);
    return std::move(*map);
}

// Finds how far from its place a worker puts a snapshot's code: at its first question, the code
// is the lowest of what the worker has mapped since it started.
class FindingDelta final : public SampleListener {
  public:
    explicit FindingDelta(pid_t worker) : worker_(worker), before_(mappings_of(worker)) {}
    void on_thread(GuestThreads::Index) override {}
    void on_trace(GuestThreads::Index, std::span<const std::uint64_t>, const BlockTable&) override {
    }
    void on_emulated() override {}
    std::vector<std::byte> on_request(std::span<const std::byte> request) override {
        const auto now = mappings_of(worker_);
        const auto is_new = [&](const Mapping& m) { return before_.find(m.start) == nullptr; };
        if (const auto code = std::ranges::find_if(now.mappings(), is_new);
            code != now.mappings().end())
            delta = code->start.value - Snapshot::code_at;
        return {request.begin(), request.end()};
    }
    std::optional<SampleEnd> on_step(CpuState&, std::span<const StepPage>) override {
        return SampleEnd::unsupported_instruction;
    }

    std::uint64_t delta = 0;

  private:
    pid_t worker_;
    MemoryMap before_;
};

// syscall, by which the distance is found ; rep stosq at rdi, r8 times ; then an endless loop
constexpr std::array<std::uint8_t, 13> attacking = {0x0f, 0x05, 0x4c, 0x89, 0xc1, 0xf3, 0x48,
                                                    0xab, 0x48, 0xff, 0xc0, 0xeb, 0xfb};

// Those that are executable too are among them.
std::vector<Mapping> writable_mappings(pid_t pid) {
    std::vector<Mapping> result;
    const auto all = mappings_of(pid);
    for (const auto& m : all.mappings())
        if (m.writable) result.push_back(m);
    return result;
}

}  // namespace

TEST_CASE("a worker emulates samples one after the other") {
    TestWorker worker;
    const Snapshot snapshot(endless);
    for (int i = 0; i < 5; ++i) {
        Collecting listener;
        const auto outcome = worker->run_sample(snapshot.request(), listener);
        REQUIRE(outcome);
        CHECK(outcome->result.end == SampleEnd::size);
        CHECK(listener.unknown == 0);
        CHECK(listener.emulated == 1);
        CHECK(listener.instructions >= 990'000);
        CHECK(listener.instructions <= 1'010'000);
        // Translated once, for the first sample.
        CHECK((outcome->counters.translated_blocks == 0) == (i > 0));
    }
}

TEST_CASE("more trace than all segments hold goes through") {
    TestWorker worker;
    const Snapshot snapshot(endless);
    Collecting listener;
    const auto outcome = worker->run_sample(snapshot.request(20'000'000), listener);
    REQUIRE(outcome);
    CHECK(listener.instructions >= 19'800'000);
    CHECK(listener.instructions <= 20'200'000);
}

TEST_CASE("what a snapshot shows when it stands still no longer is not taken") {
    // mov eax, [data]; mov ebx, [data + 0x8000]; jmp to itself
    constexpr std::array<std::uint8_t, 20> code = {0x8b, 0x05, 0xfa, 0xff, 0x00, 0x00, 0x8b,
                                                   0x1d, 0xf4, 0x7f, 0x01, 0x00, 0xeb, 0xfe};
    const Snapshot snapshot(code);
    TestWorker worker;
    auto request = snapshot.request(5000);
    // Nothing at all in time, then everything, then nothing again: pages are not kept either.
    for (const auto& [until_ns, end] :
         {std::pair{std::int64_t{1}, SampleEnd::time}, std::pair{INT64_MAX, SampleEnd::size},
          std::pair{std::int64_t{1}, SampleEnd::time}}) {
        Collecting listener;
        request.stands_still_until_ns = until_ns;
        const auto outcome = worker->run_sample(request, listener);
        REQUIRE(outcome);
        CHECK(outcome->result.end == end);
        CHECK((listener.instructions > 4000) == (end == SampleEnd::size));
        CHECK(listener.emulated == 1);
    }
}

TEST_CASE("an answer that comes when the snapshot stands still no longer ends the sample") {
    constexpr std::array<std::uint8_t, 4> code = {0x0f, 0x05, 0xeb,
                                                  0xfe};  // syscall; jmp to itself
    const Snapshot snapshot(code);
    TestWorker worker;
    int requests = 0;
    // On a slow machine that is too short a time to ask in.
    for (unsigned time_us = 40'000; requests == 0 && time_us < 100'000'000; time_us *= 2) {
        Collecting slow;
        slow.answer_delay_us = time_us;
        auto request = snapshot.request(5000);
        request.stands_still_until_ns =
            read_clock_ns(CLOCK_MONOTONIC) + std::int64_t{time_us} * 1000;
        const auto outcome = worker->run_sample(request, slow);
        REQUIRE(outcome);
        CHECK(outcome->result.end == SampleEnd::time);
        CHECK(slow.instructions <= 1);
        requests = slow.requests;
    }
    CHECK(requests == 1);
}

TEST_CASE("questions are answered by the supervisor") {
    // mov eax, 77 ; syscall ; cmp eax, 77 ; je back to the start ; ud2
    constexpr std::array<std::uint8_t, 14> code = {0xb8, 77,   0,  0,    0,    0x0f, 0x05,
                                                   0x83, 0xf8, 77, 0x74, 0xf4, 0x0f, 0x0b};
    TestWorker worker;
    const Snapshot snapshot(code);
    Collecting listener;
    const auto outcome = worker->run_sample(snapshot.request(4000), listener);
    REQUIRE(outcome);
    CHECK(outcome->result.end == SampleEnd::size);
    CHECK(listener.requests > 900);
    REQUIRE(outcome->syscall_report.size() == 8);
    std::uint64_t calls = 0;
    std::memcpy(&calls, outcome->syscall_report.data(), sizeof calls);
    CHECK(calls == static_cast<std::uint64_t>(listener.requests));
}

TEST_CASE("what cannot be translated is stepped outside, with the dirty pages in place") {
    // mov [rsp - 8], rax ; int 0x80 ; inc rax ; jmp to the inc
    constexpr std::array<std::uint8_t, 12> code = {0x48, 0x89, 0x44, 0x24, 0xf8, 0xcd,
                                                   0x80, 0x48, 0xff, 0xc0, 0xeb, 0xfb};
    TestWorker worker;
    const Snapshot snapshot(code);
    Collecting listener;
    listener.step_length = 2;
    const auto outcome = worker->run_sample(snapshot.request(1000), listener);
    REQUIRE(outcome);
    CHECK(listener.steps == 1);
    CHECK(listener.dirty_pages >= 1);
    CHECK(outcome->result.end == SampleEnd::size);
    CHECK(outcome->result.single_stepped == 1);
}

TEST_CASE("a guest that writes all over the worker costs its sample and no more") {
    const Snapshot snapshot(attacking);
    std::size_t attacked = 0, lost = 0;
    for (std::size_t nth = 0;; ++nth) {
        TestWorker worker;
        FindingDelta warm_up(worker->pid());
        auto request = snapshot.request(10'000);
        request.cpu[Gpr::r8] = 0;
        REQUIRE(worker->run_sample(request, warm_up));
        REQUIRE(warm_up.delta != 0);
        const auto targets = writable_mappings(worker->pid());
        if (nth >= targets.size()) break;
        const auto& target = targets[nth];
        CAPTURE(target.name);
        request.cpu[Gpr::rdi] = target.start.value - warm_up.delta;
        request.cpu[Gpr::r8] = std::min<std::uint64_t>(target.size_bytes(), 1 << 20) / 8;
        request.cpu[Gpr::rax] = 0x4141414141414141;
        Collecting listener;
        const auto outcome = worker->run_sample(request, listener);
        ++attacked;
        if (outcome) continue;
        ++lost;
        // Its end is noticed, not its silence.
        CHECK(outcome.error().code != ErrorCode::interrupted);
    }
    CHECK(attacked > 5);
    MESSAGE(attacked << " mappings written over, " << lost << " workers lost");
    // A new worker is as good as ever.
    TestWorker worker;
    Collecting listener;
    const Snapshot healthy(endless);
    const auto outcome = worker->run_sample(healthy.request(), listener);
    REQUIRE(outcome);
    CHECK(listener.instructions >= 990'000);
}

TEST_CASE("a system call from subverted code kills the worker, before it is made") {
    const Snapshot snapshot(attacking);
    TestWorker worker;
    FindingDelta warm_up(worker->pid());
    auto request = snapshot.request(10'000);
    request.cpu[Gpr::r8] = 0;
    REQUIRE(worker->run_sample(request, warm_up));
    REQUIRE(warm_up.delta != 0);
    for (const auto& m : writable_mappings(worker->pid())) {
        if (!m.executable) continue;
        // The instruction syscall, from any odd byte behind an addition to eax. No call has such a
        // number.
        request.cpu[Gpr::rax] = 0x050f'050f'050f'050f;
        // Over everything that was translated, this very instruction included.
        request.cpu[Gpr::rdi] = m.start.value - warm_up.delta;
        request.cpu[Gpr::r8] = (std::uint64_t{1} << 20) / 8;
        Collecting listener;
        REQUIRE(!worker->run_sample(request, listener));
        CHECK(worker.wait_for_end() == SIGSYS);
        return;
    }
    FAIL("the worker has no memory for code");
}

TEST_CASE("a worker translates ahead what cannot change, and a sample finds it") {
    const Snapshot snapshot(endless);
    const std::array roots = {GuestAddress{Snapshot::code_at}};
    const auto prepare = [&](TestWorker& worker, std::string_view maps) {
        const auto prepared = worker->prepare({.maps_text = maps,
                                               .memory_fd = snapshot.request().memory_fd,
                                               .program_counters = roots,
                                               .bursts = {},
                                               .time = std::chrono::seconds(10)});
        REQUIRE(prepared);
        CHECK(prepared->has_more == 0);
        return prepared->instructions;
    };
    auto request = snapshot.request(100'000);
    request.limits.defers_superblocks = true;
    std::string constant(request.maps_text);
    constant.replace(constant.find("rwxp 0 0:0 0"), 12, "r-xp 0 8:1 7");
    {
        TestWorker worker;
        CHECK(prepare(worker, request.maps_text) == 0);
        CHECK(prepare(worker, "no mappings\n") == 0);
    }
    TestWorker worker;
    CHECK(prepare(worker, constant) == 2);
    CHECK(prepare(worker, constant) == 0);
    request.maps_text = constant;
    Collecting listener;
    const auto outcome = worker->run_sample(request, listener);
    REQUIRE(outcome);
    CHECK(outcome->result.end == SampleEnd::size);
    CHECK(outcome->counters.translated_instructions == 0);
    CHECK(outcome->counters.emulation_ns != 0);
    // The superblock that the sample wanted.
    CHECK(prepare(worker, constant) > 2);
    request.forget_code = true;
    const auto anew = worker->run_sample(request, listener);
    REQUIRE(anew);
    CHECK(anew->counters.translated_instructions == 2);
}

TEST_CASE("a sample in haste is followed to its end, to a question, or for a time") {
    using enum WorkerProcess::Followed;
    using Clock = std::chrono::steady_clock;
    const auto later = Clock::now() + std::chrono::hours(1);
    const Snapshot snapshot(endless);
    // syscall ; jmp back
    const Snapshot asking(std::array<std::uint8_t, 4>{0x0f, 0x05, 0xeb, 0xfc});
    TestWorker worker;
    const auto begin = [&](const Snapshot& what) {
        auto request = what.request(100'000);
        request.stands_still_until_ns = std::chrono::nanoseconds(later.time_since_epoch()).count();
        REQUIRE(worker->begin_sample(request));
    };
    const auto follow = [&](Clock::time_point until) {
        std::set<GuestThreads::Index> threads;
        const auto followed = worker->follow_sample(until, [&](auto i) { threads.insert(i); });
        REQUIRE(followed);
        CHECK(threads.contains(0) == (*followed == to_the_end_of_emulation));
        return *followed;
    };
    const auto finish = [&] {
        Collecting listener;
        listener.announced = {0};
        const auto outcome = worker->finish_sample(listener);
        REQUIRE(outcome);
        CHECK(listener.emulated == 1);
        CHECK(listener.unknown == 0);
        CHECK(listener.instructions > 0);
    };
    begin(snapshot);
    CHECK(follow(later) == to_the_end_of_emulation);
    finish();
    begin(asking);
    CHECK(follow(later) == to_a_question);
    finish();
    begin(asking);
    CHECK(follow(Clock::time_point{}) != to_the_end_of_emulation);
    finish();
}

TEST_CASE("nonsense from the supervisor or its end ends a worker") {
    std::optional<TestWorker> worker(std::in_place);
    const Snapshot snapshot(endless);
    Collecting listener;
    auto request = snapshot.request();
    request.maps_text = "no mappings\n";
    const auto outcome = (*worker)->run_sample(request, listener);
    REQUIRE(outcome);
    CHECK(outcome->result.end == SampleEnd::worker_lost);
}

}  // namespace shadowprof::worker_test

// A worker of the test is the test itself with an argument.
int main(int argc, char** argv) {
    using namespace shadowprof;
    using namespace shadowprof::worker_test;
    if (argc == 2 && std::strcmp(argv[1], worker_argument) == 0) {
        AskingSyscalls syscalls;
        return run_worker(syscalls, argv);
    }
    return doctest::Context(argc, argv).run();
}
