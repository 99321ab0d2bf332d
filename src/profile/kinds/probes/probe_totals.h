// Reduces the events of probes in bounded space.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/trace/probe_record.h"
#include "probe/probe.h"
#include "profile/code/index_table.h"
#include "profile/kinds/probes/probe_profile.h"
#include "profile/statistics/counting_sample.h"

namespace shadowprof {

// The profile of `probe` without events.
ProbeProfile empty_probe_profile(const Probe& probe);

class ProbeTotals {
  public:
    // Events with a key beyond so many are counted as left out.
    static constexpr std::size_t max_keys = 65536;
    // A hotlist takes one or two kilobytes.
    static constexpr std::size_t max_hotlists = 16384;

    // `seed` is for the counting samples.
    ProbeTotals(std::span<const Probe> probes, std::uint64_t seed);

    // Adds an event that counts `weight` times. `value` and `key` should be of the probe's kinds.
    // They come from a worker, so an event with other kinds is counted as missed, and one of a
    // probe that does not exist is ignored.
    void add(std::uint32_t probe, const ProbeDatum& value, const ProbeDatum& key,
             std::uint64_t weight = 1);
    void add_missed(std::uint32_t probe, std::uint64_t weight = 1);
    // Adds what a worker says that a probe saw at `at`, called from `caller` if that is known.
    void add(const ProbeRecord& record, CodeLocation at, std::optional<CodeLocation> caller);

    std::size_t size() const { return probes_.size(); }
    // Whether any probe needs the caller.
    bool uses_callers() const;

    // In the order of the probes. A probe without events has no entries. Profiles of several
    // collectors are added up by add(ProbeProfile&, ...) of profile/kinds/probes/probe_profile.h.
    std::vector<ProbeProfile> profiles() const;
    // Notes for the reader on probes that had events left out.
    std::vector<std::string> notes() const;

  private:
    struct Entry {
        ProbeEntry sums;
        CountingSample<std::uint64_t> sample;  // values, or numbers of locations
        Random random;
    };
    struct Probed {
        Probe probe;
        ProbeProfile head;  // without entries
        std::vector<Entry> entries;
        IndexTable index;
    };

    Entry* entry_of(Probed& probed, const ProbeDatum& key);
    void add_value(Probed& probed, Entry& entry, const ProbeDatum& value, std::uint64_t weight);
    ProbeEntry finished(const Probed& probed, const Entry& entry) const;
    std::uint64_t number_of(CodeLocation location);

    std::uint64_t seed_;
    std::vector<Probed> probes_;
    std::vector<CodeLocation> locations_;  // locations that are values of hotlists
    IndexTable location_index_;
};

// The same as ProbeTotals::notes(), for probe profiles.
std::vector<std::string> probe_notes(std::span<const ProbeProfile> probes);

}  // namespace shadowprof
