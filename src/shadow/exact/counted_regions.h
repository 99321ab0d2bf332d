// Which parts of a process count in exact mode, by the program's requests and by functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/guest/region_event.h"
#include "emu/trace/probe_record.h"
#include "profile/collect/sample_collector.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

// What requests have come to, for notes about those that do nothing.
struct RegionCounts {
    std::uint64_t stops_without_start = 0;
    std::uint64_t unknown_calls = 0;
    std::uint64_t entered = 0, lost = 0;  // calls of counted functions
    bool started = false;                 // from the start or by a request

    void add(const RegionCounts& other);
};

// The parts of a profile, of all processes. Called by the threads that use up traces.
class PartTaker {
  public:
    virtual ~PartTaker() = default;
    // So many more instructions were counted.
    virtual void count(std::uint64_t instructions) = 0;
    // A part ends: all that the collectors have counted since the last one, or since forget(). The
    // calling thread's collector is in the midst of a sample.
    virtual void end_part(const std::string& name) = 0;
    // Nothing counts of what was counted so far.
    virtual void forget() = 0;
};

class CountedRegions {
  public:
    // Both must outlive it.
    CountedRegions(SampleCollector& collector, PartTaker& parts, const RunOptions& options);

    // A process begins.
    void begin_process();
    // Another program begins in the same process.
    void begin_program();
    // To be called when the collector was told that the thread begins, or that it goes on at
    // another place.
    enum class Thread : std::uint8_t { is_new, goes_on };
    void begin_thread(std::uint32_t thread, Thread how);
    // Calls are not known any more, as the emulator was replaced.
    void lose_calls();
    // Follows a request. Returns false if the record is not part of one. It is hostile.
    bool take(const ProbeRecord& record);
    // Since begin_process().
    const RegionCounts& found() const { return found_; }

  private:
    struct OfThread {
        bool is_toggled = false;  // whether it does not count all the same
        bool is_inside = false;   // a counted function
    };

    void follow(std::uint32_t thread, RegionEvent::Kind kind);
    void count_all(bool counts);
    void apply(std::uint32_t thread);

    SampleCollector& collector_;
    PartTaker& parts_;
    const bool counts_at_start_, threads_count_at_start_, counts_functions_;
    bool counts_;  // by requests to start and stop
    std::vector<OfThread> threads_;
    std::string name_;  // of the next request, as far as it has come
    RegionCounts found_;
};

}  // namespace shadowprof
