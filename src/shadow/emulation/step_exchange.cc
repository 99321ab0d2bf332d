#include "shadow/emulation/step_exchange.h"

namespace shadowprof {

std::optional<SampleEnd> StepExchange::ask(CpuState& cpu, std::span<const StepPage> pages,
                                           const std::function<void()>& announce) {
    std::unique_lock lock(mutex_);
    if (quit_) return SampleEnd::stopped;
    step_ = {cpu, pages};
    answered_ = false;
    announce();
    changed_.wait(lock, [&] { return answered_ || quit_; });
    if (!answered_) return SampleEnd::stopped;
    cpu = step_.cpu;
    return end_;
}

void StepExchange::answer(const CpuState& cpu, std::optional<SampleEnd> end) {
    {
        const std::lock_guard lock(mutex_);
        step_.cpu = cpu;
        end_ = end;
        answered_ = true;
    }
    changed_.notify_all();
}

void StepExchange::quit() {
    {
        const std::lock_guard lock(mutex_);
        quit_ = true;
    }
    changed_.notify_all();
}

}  // namespace shadowprof
