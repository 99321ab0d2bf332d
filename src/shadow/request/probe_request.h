// The probes of a run, and what else it notes of places in code, on their way to the workers.
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
#include "shadow/request/interpreter_finder.h"

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
    ProbePlaces* places = nullptr;  // not null if there are place tests
    // The entries of functions within which alone instructions count: places where one of these
    // holds. Empty: instructions count anywhere.
    ProbeSet counted = {};
    // The entries of allocators whose calls are noted, as entries_of_allocators() says; empty:
    // none are.
    ProbeSet allocators = {};

    // Finds interpreters whose frames are noted; null: none are.
    InterpreterFinder* interpreters = nullptr;

    bool has_probes() const { return !probes.empty() || !counted.empty() || !allocators.empty(); }
    bool empty() const { return !has_probes() && !interpreters; }
    bool has_place_tests() const {
        return probes.place_tests() + counted.place_tests() + allocators.place_tests() != 0;
    }
};

// Probes whose conditions hold at the entries of functions that match one of `globs`. Globs with
// quotes or backslashes make no valid probe.
std::vector<std::string> entries_of_functions(const std::vector<std::string>& globs);
// Probes whose conditions hold at the entries of allocators, in the order of the table.
std::vector<std::string> entries_of_allocators();

// The probes, as far as one worker knows them.
class WorkerProbes {
  public:
    // Both must outlive this object. `request` is null if there are no probes.
    WorkerProbes(const ProbeRequest* request, ModuleTable& modules)
        : request_(request), modules_(modules) {}

    // Whether prepare() has nothing to do for this layout.
    bool is_prepared(const MemoryMap& map) const {
        return !request_ || is_prepared(layout_of(map));
    }
    // To be called before the worker runs code of this layout, while it is idle. Takes long where
    // it reads symbols, for files that were not mapped before.
    Result<void> prepare(WorkerProcess& worker, const MemoryMap& map);
    // Like prepare(), for a thread that must not wait so long: returns false while another thread
    // reads the symbols.
    Result<bool> try_prepare(WorkerProcess& worker, const MemoryMap& map);
    // To be called when the worker was replaced.
    void new_worker() { is_set_ = false; }
    // To be called when the process executes another program, or is another one: no thread is in a
    // counted function.
    void new_program() {
        is_set_ = false;
        is_program_new_ = true;
    }

  private:
    // A mapping of a file's code: start, end, offset in the file, and name.
    using CodeMapping = std::tuple<GuestAddress, GuestAddress, std::uint64_t, std::string>;
    using Layout = std::vector<CodeMapping>;
    struct Places {
        std::vector<PlaceRange> of_probes;
        std::vector<AllocatorEntry> allocators;
        std::vector<GuestAddress> counted;  // entries of counted functions
        PythonProgram python = {};
    };
    // A search for places, under way or finished.
    struct Search {
        Layout layout;
        MemoryMap map;
        Places places = {};
        std::atomic<bool> is_over = false;
        std::thread thread = {};

        ~Search() { thread.join(); }
    };

    Layout layout_of(const MemoryMap& map) const;
    bool is_prepared(const Layout& layout) const;
    Places find(const MemoryMap& map);
    Result<void> set(WorkerProcess& worker, Layout layout, const Places& places);

    const ProbeRequest* request_;
    ModuleTable& modules_;
    bool is_set_ = false;
    bool is_program_new_ = true;
    Layout layout_;
    std::unique_ptr<Search> search_;
};

}  // namespace shadowprof
