// Guests that write over the worker which emulates them.
#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <iterator>

#include "base/memory_map.h"
#include "emu/test_worker.h"

namespace shadowprof::worker_attack_test {
namespace {

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

}  // namespace shadowprof::worker_attack_test
