// Feeds a collector with the trace of one sample, and answers what its worker asks.
#pragma once

#include <functional>
#include <vector>

#include "emu/worker/worker_process.h"
#include "guest_kernel/state/environment.h"
#include "profile/collect/process_profile.h"
#include "shadow/emulation/held_trace.h"

namespace shadowprof {

// What an emulation tells and asks while it goes on, in the thread that follows it.
class EmulationHooks {
  public:
    virtual ~EmulationHooks() = default;
    // The snapshot is no longer needed.
    virtual void on_emulated() = 0;
    // SampleListener::on_step(), for a replica.
    virtual std::optional<SampleEnd> on_step(CpuState& cpu, std::span<const StepPage> pages) = 0;
    // Nobody waits for the sample any more, and its worker is killed.
    virtual bool is_given_up() = 0;
};

class CollectingListener : public SampleListener {
  public:
    // Lets the collector begin with a thread, and is called once for each, that with index 0 first.
    // False: the trace is dropped. Before the first, the sample's weight is known.
    using Begin = std::function<bool(GuestThreads::Index)>;

    // Keeps the thread's call stack, as long as the snapshot is there. May be called again.
    using KeepStack = std::function<void(GuestThreads::Index)>;

    struct Options {
        bool holds = false;        // the trace is kept until release()
        bool first_alone = false;  // what other threads do is dropped
    };

    // All must outlive it.
    CollectingListener(SampleCollector& collector, SampleEnvironment& environment,
                       EmulationHooks& hooks, KeepStack keep_stack, Begin begin, Options options)
        : collector_(collector),
          environment_(environment),
          hooks_(hooks),
          keep_stack_(std::move(keep_stack)),
          begin_(std::move(begin)),
          first_alone_(options.first_alone),
          holds_(options.holds) {}

    void on_thread(GuestThreads::Index thread) override {
        if (counts(thread)) keep_stack_(thread);
    }

    void on_trace(GuestThreads::Index thread, std::span<const std::uint64_t> words,
                  const BlockTable& table) override;
    void on_probe(const ProbeRecord& record) override;
    void on_emulated() override { hooks_.on_emulated(); }
    std::vector<std::byte> on_request(std::span<const std::byte> request) override;

    // The weight is known: what was held goes to the collector, and what comes is not held.
    void release();
    // Nothing of the sample has gone to the collector.
    bool holds() const { return holds_; }
    // Instead of release(): what is held does not count, nor does what comes.
    void drop();
    bool is_given_up() { return hooks_.is_given_up(); }

    // By thread: what was counted.
    const std::vector<std::uint64_t>& instructions() const { return instructions_; }
    bool is_trace_damaged() const { return trace_damaged_; }

  protected:
    EmulationHooks& hooks() { return hooks_; }

  private:
    bool counts(GuestThreads::Index thread) const { return thread == 0 || !first_alone_; }
    void begin(GuestThreads::Index thread);
    void collect(GuestThreads::Index thread, std::span<const std::uint64_t> words);
    void collect(const ProbeRecord& record);

    SampleCollector& collector_;
    SampleEnvironment& environment_;
    EmulationHooks& hooks_;
    const KeepStack keep_stack_;
    const Begin begin_;
    const bool first_alone_;
    bool holds_;
    HeldTrace held_;
    BlockTable table_;
    bool collects_ = true;
    bool trace_damaged_ = false;
    std::vector<bool> begun_;                  // by thread
    std::vector<std::uint64_t> instructions_;  // the same
};

// Listens to a sample of a replica, on which instructions can be stepped.
class ReplicaListener final : public CollectingListener {
  public:
    using CollectingListener::CollectingListener;
    std::optional<SampleEnd> on_step(CpuState& cpu, std::span<const StepPage> pages) override {
        return hooks().on_step(cpu, pages);
    }
};

// Listens to a sample of a process that stands still for moments: there is nothing to step on.
class LiveListener final : public CollectingListener {
  public:
    using CollectingListener::CollectingListener;
    std::optional<SampleEnd> on_step(CpuState&, std::span<const StepPage>) override {
        return SampleEnd::unsupported_instruction;
    }
};

}  // namespace shadowprof
