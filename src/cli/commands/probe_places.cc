#include "cli/commands/probe_places.h"

#include <algorithm>

namespace shadowprof {

std::vector<PlaceRange> MappedPlaces::find(const ProbeSet& probes, const MemoryMap& map,
                                           ModuleTable& modules) {
    const std::lock_guard lock(mutex_);
    std::vector<PlaceRange> found;
    for (const Mapping& mapping : map.mappings()) {
        if (!mapping.executable || !mapping.is_file()) continue;
        const CodeLocation first = modules.locate(&mapping, mapping.start);
        const std::uint64_t end = first.address + (mapping.end - mapping.start);
        for (const ModulePlaces& places : places_of(probes, first.module, modules)) {
            const auto from = std::max(places.start, first.address);
            const auto to = std::min(places.end, end);
            if (from < to)
                found.push_back({mapping.start + (from - first.address),
                                 mapping.start + (to - first.address), places.place_bits});
        }
    }
    return found;
}

// If the file cannot be used, only the module's path is known.
const std::vector<ModulePlaces>& MappedPlaces::places_of(const ProbeSet& probes,
                                                         std::uint32_t number,
                                                         ModuleTable& modules) {
    const auto [at, is_new] = by_module_.try_emplace(std::pair(&probes, number));
    if (!is_new) return at->second;
    const Module module = modules.modules()[number];
    StringPool strings;
    auto symbols = ModuleSymbols::open(modules.path_to(number), module.build_id, strings);
    if (!symbols) symbols = std::make_unique<ModuleSymbols>(NamedFunctions(), strings);
    return at->second = find_places(probes, module.path, **symbols);
}

}  // namespace shadowprof
