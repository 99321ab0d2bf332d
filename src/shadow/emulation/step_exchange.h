// Instructions that the emulator cannot execute are executed by the processor, on the replica. Only
// the tracing thread may use ptrace, so the thread that follows the emulation asks it.
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
    // must tell the tracing thread. Returns how the sample ends because of it, or nothing if the
    // sample goes on; `stopped` after quit().
    std::optional<SampleEnd> ask(CpuState& cpu, std::span<const StepPage> pages,
                                 const std::function<void()>& announce);

    // To be called in the tracing thread, once for each announcement.
    const Step& step() const { return step_; }
    void answer(const CpuState& cpu, std::optional<SampleEnd> end);

    // Ends all waiting, as no answer will come any more.
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
