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

// Finds where place tests hold, by symbols. May be used by several threads.
class ProbePlaces {
  public:
    virtual ~ProbePlaces() = default;
    // Returns the places in all code of files that `map` has, without overlaps, in no order.
    virtual std::vector<PlaceRange> find(const ProbeSet& probes, const MemoryMap& map,
                                         ModuleTable& modules) = 0;
};

struct ProbeRequest {
    std::vector<std::string> texts;
    ProbeSet probes;                // parsed from `texts`
    ProbePlaces* places = nullptr;  // not null if `probes` has place tests
};

// The probes, as far as one worker knows them.
class WorkerProbes {
  public:
    // Both must outlive this object. `request` is null if there are no probes.
    WorkerProbes(const ProbeRequest* request, ModuleTable& modules)
        : request_(request), modules_(modules) {}

    // Whether prepare() has nothing to do for this layout.
    bool is_prepared(const MemoryMap& map) const {
        return !request_ || (is_set_ && layout_of(map) == layout_);
    }
    // To be called before the worker runs code of this layout, while it is idle. Takes long where
    // it reads symbols, for files that were not mapped before.
    Result<void> prepare(WorkerProcess& worker, const MemoryMap& map);
    // Like prepare(), for a thread that must not wait so long: returns false while another thread
    // reads the symbols.
    Result<bool> try_prepare(WorkerProcess& worker, const MemoryMap& map);
    // To be called when the worker was replaced.
    void new_worker() { is_set_ = false; }

  private:
    // A mapping of a file's code: start, end, offset in the file, and name.
    using CodeMapping = std::tuple<GuestAddress, GuestAddress, std::uint64_t, std::string>;
    using Layout = std::vector<CodeMapping>;
    // A search for places, under way or finished.
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
