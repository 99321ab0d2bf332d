// Decides the place tests of probes by the symbols of the modules that a process has mapped.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "report/symbols/symbol_places.h"
#include "shadow/request/probe_request.h"

namespace shadowprof {

// Remembers what it has found, so that the sets of probes must outlive it.
class MappedPlaces final : public ProbePlaces {
  public:
    std::vector<PlaceRange> find(const ProbeSet& probes, const MemoryMap& map,
                                 ModuleTable& modules) override;

  private:
    const std::vector<ModulePlaces>& places_of(const ProbeSet& probes, std::uint32_t module,
                                               ModuleTable& modules);

    std::mutex mutex_;
    std::map<std::pair<const ProbeSet*, std::uint32_t>, std::vector<ModulePlaces>> by_module_;
};

}  // namespace shadowprof
