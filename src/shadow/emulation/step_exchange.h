// Instructions that the emulator cannot execute are executed by the processor, on the replica. Only
// the main thread may use ptrace, so the thread that follows the emulation asks it to.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>

#include "emu/worker/worker_process.h"

namespace shadowprof {

class StepExchange {
  public:
    struct Step {
        CpuState cpu;
        std::span<const StepPage> pages;
    };

    // Has the instruction at cpu.rip executed, and blocks until the answer has come. `announce`
    // tells the main thread. Returns how the sample ends for it, nothing if it goes on; `stopped`
    // after quit().
    std::optional<SampleEnd> ask(CpuState& cpu, std::span<const StepPage> pages,
                                 const std::function<void()>& announce);

    // In the main thread, once for each announcement.
    const Step& step() const { return step_; }
    void answer(const CpuState& cpu, std::optional<SampleEnd> end);

    // No answer will come any more.
    void quit();

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    Step step_;
    bool answered_ = false;
    std::optional<SampleEnd> end_;
    bool quit_ = false;
};

}  // namespace shadowprof
