// Feeds a collector with the trace of one sample, and answers what its worker asks.
#pragma once

#include <functional>
#include <vector>

#include "emu/worker_process.h"
#include "guest_kernel/environment.h"
#include "profile/process_profile.h"

namespace shadowprof {

// What an emulation tells and asks while it goes on, in the thread that follows it.
class EmulationHooks {
  public:
    virtual ~EmulationHooks() = default;
    // The snapshot is no longer needed.
    virtual void on_emulated() = 0;
    // SampleListener::on_step(), for a replica.
    virtual std::optional<SampleEnd> on_step(CpuState& cpu, std::span<const StepPage> pages) = 0;
};

class CollectingListener : public SampleListener {
  public:
    // Lets the collector begin with a thread, and is called once for each, that with index 0 first.
    // False: the trace is dropped.
    using Begin = std::function<bool(GuestThreads::Index)>;

    // All must outlive it.
    CollectingListener(SampleCollector& collector, SampleEnvironment& environment,
                       EmulationHooks& hooks, Begin begin)
        : collector_(collector),
          environment_(environment),
          hooks_(hooks),
          begin_(std::move(begin)) {}

    void on_trace(GuestThreads::Index thread, std::span<const std::uint64_t> words,
                  const BlockTable& table) override;
    void on_probe(const ProbeRecord& record) override;
    void on_emulated() override { hooks_.on_emulated(); }
    std::vector<std::byte> on_request(std::span<const std::byte> request) override;

    // Begins with a thread, and with that of index 0 before it, unless it has done so.
    void begin(GuestThreads::Index thread);

    // By thread: what was counted.
    const std::vector<std::uint64_t>& instructions() const { return instructions_; }
    bool is_trace_damaged() const { return trace_damaged_; }

  protected:
    EmulationHooks& hooks() { return hooks_; }

  private:
    SampleCollector& collector_;
    SampleEnvironment& environment_;
    EmulationHooks& hooks_;
    const Begin begin_;
    bool collects_ = true;
    bool trace_damaged_ = false;
    std::vector<bool> begun_;                  // by thread
    std::vector<std::uint64_t> instructions_;  // the same
};

// Of a replica, whose stacks can be read while it lives.
class ReplicaListener final : public CollectingListener {
  public:
    using CollectingListener::CollectingListener;
    void on_thread(GuestThreads::Index thread) override { begin(thread); }
    std::optional<SampleEnd> on_step(CpuState& cpu, std::span<const StepPage> pages) override {
        return hooks().on_step(cpu, pages);
    }
};

// Of a process that stands still for moments: its stacks are copied, to be unwound when there is
// time. There is nothing to step on.
class LiveListener final : public CollectingListener {
  public:
    using CopyStack = std::function<void(GuestThreads::Index)>;
    LiveListener(SampleCollector& collector, SampleEnvironment& environment, EmulationHooks& hooks,
                 Begin begin, CopyStack copy_stack)
        : CollectingListener(collector, environment, hooks, std::move(begin)),
          copy_stack_(std::move(copy_stack)) {}
    void on_thread(GuestThreads::Index thread) override { copy_stack_(thread); }
    std::optional<SampleEnd> on_step(CpuState&, std::span<const StepPage>) override {
        return SampleEnd::unsupported_instruction;
    }

  private:
    const CopyStack copy_stack_;
};

}  // namespace shadowprof
