// Feeds a collector with the trace of one sample, and answers its worker's requests.
#pragma once

#include <functional>
#include <vector>

#include "emu/worker/worker_process.h"
#include "guest_kernel/state/environment.h"
#include "profile/collect/process_profile.h"
#include "shadow/emulation/held_trace.h"

namespace shadowprof {

// What an emulation reports and asks for while it goes on, in the thread that follows it.
class EmulationHooks {
  public:
    virtual ~EmulationHooks() = default;
    // The snapshot is no longer needed.
    virtual void on_emulated() = 0;
    // See SampleListener::on_step(); only called for a replica.
    virtual std::optional<SampleEnd> on_step(CpuState& cpu, std::span<const StepPage> pages) = 0;
    // Whether nobody waits for the sample any more, and its worker is killed.
    virtual bool is_given_up() = 0;
};

class CollectingListener : public SampleListener {
  public:
    // Lets the collector begin with a thread. Called once for each thread, first for index 0, and
    // not before the sample's weight is known. If it returns false, the trace is dropped.
    using Begin = std::function<bool(GuestThreads::Index)>;

    // Keeps the thread's call stack. Called while the snapshot is there, maybe several times.
    using KeepStack = std::function<void(GuestThreads::Index)>;

    struct Options {
        bool holds = false;        // the trace is kept until release()
        bool first_alone = false;  // the trace of other threads is dropped
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

    // To be called when the weight is known. Gives the collector what was held; nothing is held
    // from now on.
    void release();
    // Whether nothing of the sample has gone to the collector yet.
    bool holds() const { return holds_; }
    // To be called instead of release(). Neither what is held nor what comes later counts.
    void drop();
    bool is_given_up() { return hooks_.is_given_up(); }

    // The counted instructions, by thread.
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
    std::vector<std::uint64_t> instructions_;  // by thread
};

// Listens to a sample of a replica, on which instructions can be single-stepped.
class ReplicaListener final : public CollectingListener {
  public:
    using CollectingListener::CollectingListener;
    std::optional<SampleEnd> on_step(CpuState& cpu, std::span<const StepPage> pages) override {
        return hooks().on_step(cpu, pages);
    }
};

// Listens to a live sample, in which no instruction can be single-stepped.
class LiveListener final : public CollectingListener {
  public:
    using CollectingListener::CollectingListener;
    std::optional<SampleEnd> on_step(CpuState&, std::span<const StepPage>) override {
        return SampleEnd::unsupported_instruction;
    }
};

}  // namespace shadowprof
