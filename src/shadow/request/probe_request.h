// The probes of a run, on their way to the workers.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/memory_map.h"
#include "emu/watch/probe_watch.h"
#include "emu/worker/worker_process.h"
#include "probe/probe.h"
#include "profile/code/module_table.h"

namespace shadowprof {

// Knows where place tests hold, from symbols. May be used by several threads.
class ProbePlaces {
  public:
    virtual ~ProbePlaces() = default;
    // The places in all code that `map` has of files, without overlaps, in no order.
    virtual std::vector<PlaceRange> find(const ProbeSet& probes, const MemoryMap& map,
                                         ModuleTable& modules) = 0;
};

struct ProbeRequest {
    std::vector<std::string> texts;
    ProbeSet probes;                // what they say
    ProbePlaces* places = nullptr;  // not null if they have place tests
};

// What one worker knows of the probes.
class WorkerProbes {
  public:
    // Both must outlive it; `request` may be null: there are none.
    WorkerProbes(const ProbeRequest* request, ModuleTable& modules)
        : request_(request), modules_(modules) {}

    // Due before the worker runs code of this layout, while nothing is asked of it. Reads symbols
    // where files are mapped that were not before, which takes long.
    Result<void> prepare(WorkerProcess& worker, const MemoryMap& map);
    // The same for a thread that may not wait so long: false while another one reads them.
    Result<bool> try_prepare(WorkerProcess& worker, const MemoryMap& map);
    // The worker was replaced.
    void new_worker() { is_set_ = false; }

  private:
    // A mapping that has code of a file.
    using CodeMapping = std::tuple<GuestAddress, GuestAddress, std::uint64_t, std::string>;
    using Layout = std::vector<CodeMapping>;
    // Places that are being found, or were.
    struct Search {
        Layout layout;
        MemoryMap map;
        std::vector<PlaceRange> places = {};
        std::atomic<bool> is_over = false;
        std::thread thread = {};

        ~Search() { thread.join(); }
    };

    Layout layout_of(const MemoryMap& map) const;
    std::vector<PlaceRange> find(const MemoryMap& map);
    Result<void> set(WorkerProcess& worker, Layout layout, std::span<const PlaceRange> places);

    const ProbeRequest* request_;
    ModuleTable& modules_;
    bool is_set_ = false;
    Layout layout_;
    std::unique_ptr<Search> search_;
};

}  // namespace shadowprof
