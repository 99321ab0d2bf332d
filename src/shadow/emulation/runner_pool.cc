#include "shadow/emulation/runner_pool.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// How long to wait until killed workers have ended.
constexpr std::chrono::seconds reaping_limit{5};

}  // namespace

Result<std::unique_ptr<RunnerPool>> RunnerPool::create(WaitHub& hub, ModuleTable& modules,
                                                       ProcessProfile& profile,
                                                       const ProbeRequest* probes,
                                                       std::size_t most) {
    std::unique_ptr<RunnerPool> pool(new RunnerPool(hub, modules, profile, probes, most));
    TRY_ASSIGN(pool->events_, RunnerEvents::create());
    TRY(pool->add());
    return pool;
}

// A runner's thread may go on for a while with what it collects, so the workers are reaped before.
void RunnerPool::end() {
    prepared_ = prepared();
    const auto ending = std::exchange(runners_, {});
    for (const auto& runner : ending) {
        runner->give_up();
        hub_.discard(runner->worker_pid());
    }
    const auto limit = std::chrono::steady_clock::now() + reaping_limit;
    while (hub_.discarded() && std::chrono::steady_clock::now() < limit) {
        hub_.reap_discarded();
        if (hub_.discarded()) poll(nullptr, 0, 1);
    }
}

Result<void> RunnerPool::add() {
    TRY_ASSIGN(auto runner,
               SampleRunner::start(*events_, profile_.add_collector(), modules_, probes_));
    runners_.push_back(std::move(runner));
    return {};
}

std::variant<SampleRunner::Lease, RunnerPool::Busy> RunnerPool::lease() {
    const auto is_idle = [](const auto& each) { return each->is_idle(); };
    const auto busy = std::ranges::count_if(runners_, std::not_fn(is_idle));
    if (static_cast<std::size_t>(busy) >= most_) return Busy{.for_a_moment = most_ == 1};
    auto idle = std::ranges::find_if(runners_, is_idle);
    if (idle == runners_.end()) {
        if (auto added = add(); !added) return Busy{.refusal = std::move(added).error()};
        idle = runners_.end() - 1;
    }
    auto lease = (*idle)->try_lease();
    if (!lease) return Busy{.for_a_moment = true};
    return *std::move(lease);
}

bool RunnerPool::is_busy() const {
    return std::ranges::any_of(runners_, [](const auto& runner) { return !runner->is_idle(); });
}

void RunnerPool::stop_preparing() {
    for (auto& runner : runners_) runner->stop_preparing();
}

Result<void> RunnerPool::replace_worker(SampleRunner& runner) {
    const pid_t lost = runner.worker_pid();
    auto replaced = runner.replace_worker();
    hub_.discard(lost);
    return replaced;
}

std::vector<pid_t> RunnerPool::worker_pids() const {
    std::vector<pid_t> pids;
    for (const auto& runner : runners_) pids.push_back(runner->worker_pid());
    return pids;
}

std::uint64_t RunnerPool::cpu_ns() const {
    auto sum = static_cast<std::uint64_t>(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    for (const pid_t worker : worker_pids()) sum += read_cpu_ns(worker);
    return sum;
}

PreparationTotals RunnerPool::prepared() const {
    PreparationTotals sum = prepared_;
    for (const auto& runner : runners_) {
        const auto prepared = runner->prepared();
        sum.instructions += prepared.instructions;
        sum.nanoseconds += prepared.nanoseconds;
    }
    return sum;
}

}  // namespace shadowprof
