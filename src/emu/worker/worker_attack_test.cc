// Guests that overwrite the worker that emulates them.
#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <iterator>

#include "base/memory_map.h"
#include "emu/worker/test_worker.h"

namespace shadowprof::worker_attack_test {
namespace {

MemoryMap mappings_of(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/maps", pid));
    auto map = MemoryMap::parse(std::string{std::istreambuf_iterator<char>(in), {}});
    REQUIRE(map);
    return std::move(*map);
}

// Finds the delta at which a worker puts a snapshot's code: at its first request, the code is the
// lowest mapping that the worker has made since it started.
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

    std::optional<std::uint64_t> delta;

  private:
    pid_t worker_;
    MemoryMap before_;
};

// syscall, at which the delta is found ; rep stosq at rdi, r8 times ; then an endless loop
constexpr std::array<std::uint8_t, 13> attacking = {0x0f, 0x05, 0x4c, 0x89, 0xc1, 0xf3, 0x48,
                                                    0xab, 0x48, 0xff, 0xc0, 0xeb, 0xfb};

// Includes executable mappings.
std::vector<Mapping> writable_mappings(pid_t pid) {
    std::vector<Mapping> result;
    const auto all = mappings_of(pid);
    for (const auto& m : all.mappings())
        if (m.writable) result.push_back(m);
    return result;
}

// A worker that has emulated its guest once without harm, so that its delta is known.
class AttackedWorker {
  public:
    AttackedWorker() {
        FindingDelta warm_up(worker_->pid());
        request_.cpu[Gpr::r8] = 0;
        REQUIRE(worker_->run_sample(request_, warm_up));
        REQUIRE(warm_up.delta);
        delta_ = *warm_up.delta;
        targets_ = writable_mappings(worker_->pid());
    }
    const std::vector<Mapping>& targets() const { return targets_; }
    // Lets the guest fill so much of a mapping of the worker with a word.
    Result<SampleOutcome> attack(const Mapping& target, std::uint64_t bytes, std::uint64_t word) {
        request_.cpu[Gpr::rdi] = target.start.value - delta_;
        request_.cpu[Gpr::r8] = bytes / sizeof word;
        request_.cpu[Gpr::rax] = word;
        Collecting listener;
        return worker_->run_sample(request_, listener);
    }
    int wait_for_end() const { return worker_.wait_for_end(); }
    MemoryMap mappings() { return mappings_of(worker_->pid()); }

  private:
    Snapshot snapshot_{attacking};
    TestWorker worker_;
    SampleRequest request_ = snapshot_.request(10'000);
    std::uint64_t delta_ = 0;
    std::vector<Mapping> targets_;
};

constexpr std::uint64_t max_attacked_bytes = 1 << 20;
// The most memory of its own that a worker can access before it knows any program.
constexpr std::uint64_t max_accessible_bytes = 128 << 20;

}  // namespace

TEST_CASE("a guest that writes all over the worker costs its sample and no more") {
    std::size_t attacked = 0, lost = 0;
    for (std::size_t nth = 0;; ++nth) {
        AttackedWorker worker;
        if (nth >= worker.targets().size()) break;
        const auto& target = worker.targets()[nth];
        CAPTURE(target.name);
        const auto outcome =
            worker.attack(target, std::min<std::uint64_t>(target.size_bytes(), max_attacked_bytes),
                          0x4141414141414141);
        ++attacked;
        if (outcome) continue;
        ++lost;
        // The supervisor notices the worker's end, not its silence.
        CHECK(outcome.error().code != ErrorCode::interrupted);
    }
    CHECK(attacked > 5);
    MESSAGE(attacked << " mappings written over, " << lost << " workers lost");
    // A new worker is unaffected.
    TestWorker worker;
    Collecting listener;
    const Snapshot healthy(endless);
    const auto outcome = worker->run_sample(healthy.request(), listener);
    REQUIRE(outcome);
    CHECK(listener.instructions >= 990'000);
}

TEST_CASE("what a worker has reserved and does not use faults when a guest reaches it") {
    AttackedWorker worker;
    const auto all = worker.mappings();
    std::uint64_t accessible_bytes = 0;
    const Mapping* largest = nullptr;
    for (const auto& m : all.mappings()) {
        if (m.readable || m.writable || m.executable)
            accessible_bytes += m.size_bytes();
        else if (!largest || m.size_bytes() > largest->size_bytes())
            largest = &m;
    }
    MESSAGE((accessible_bytes >> 20) << " MiB are accessible");
    CHECK(accessible_bytes < max_accessible_bytes);
    REQUIRE(largest);
    CHECK(largest->size_bytes() > max_accessible_bytes);
    const auto outcome = worker.attack(*largest, sizeof(std::uint64_t), 0x4141414141414141);
    REQUIRE(outcome);
    CHECK(outcome->result.end == SampleEnd::fault);
    CHECK(outcome->result.signal == SIGSEGV);
}

TEST_CASE("a system call from subverted code kills the worker, before it is made") {
    AttackedWorker worker;
    for (const auto& m : worker.targets()) {
        if (!m.executable) continue;
        // Overwrites all translated code, including the instruction that writes. Each byte begins
        // the instruction syscall, or an addition to eax followed by it. No system call has such a
        // number.
        REQUIRE(!worker.attack(m, max_attacked_bytes, 0x050f'050f'050f'050f));
        CHECK(worker.wait_for_end() == SIGSYS);
        return;
    }
    FAIL("the worker has no memory for code");
}

}  // namespace shadowprof::worker_attack_test
