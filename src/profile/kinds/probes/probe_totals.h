// Reduces the events of probes, in a bounded space.
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

// What `probe` is, without events.
ProbeProfile empty_probe_profile(const Probe& probe);

class ProbeTotals {
  public:
    // The events of keys that come when there are so many are counted, but left out.
    static constexpr std::size_t most_keys = 65536;
    // Hotlists take a kilobyte or two each.
    static constexpr std::size_t most_hotlists = 16384;

    // `seed` is for the counting samples.
    ProbeTotals(std::span<const Probe> probes, std::uint64_t seed);

    // One event that counts `weight` times. `value` and `key` are of the kinds that the probe's
    // are; an event whose are not, or a probe that there is not, is counted as missed, or not at
    // all: it comes from a worker.
    void add(std::uint32_t probe, const ProbeDatum& value, const ProbeDatum& key,
             std::uint64_t weight = 1);
    void add_missed(std::uint32_t probe, std::uint64_t weight = 1);
    // What a worker says that a probe saw, at a place, under a call if that is known.
    void add(const ProbeRecord& record, CodeLocation at, std::optional<CodeLocation> caller);

    std::size_t size() const { return probes_.size(); }
    // Whether any probe wants to know the call.
    bool uses_callers() const;

    // In the order of the probes; one without events has no entries. What several of these say is
    // added up by add(ProbeProfile&, ...) of profile/kinds/probes/probe_profile.h.
    std::vector<ProbeProfile> profiles() const;
    // What a reader must know: a probe that had events left out.
    std::vector<std::string> notes() const;

  private:
    struct Entry {
        ProbeEntry sums;
        CountingSample<std::uint64_t> sample;  // of values, or of numbers of locations
        Random random;
    };
    struct Probed {
        Probe probe;
        ProbeProfile head;  // without entries
        std::vector<Entry> entries;
        IndexTable index;  // of entries, by key
    };

    Entry* entry_of(Probed& probed, const ProbeDatum& key);
    void add_value(Probed& probed, Entry& entry, const ProbeDatum& value, std::uint64_t weight);
    ProbeEntry finished(const Probed& probed, const Entry& entry) const;
    std::uint64_t number_of(CodeLocation location);

    std::uint64_t seed_;
    std::vector<Probed> probes_;
    std::vector<CodeLocation> locations_;  // that are values of hotlists
    IndexTable location_index_;
};

// The same as notes(), but for probe profiles.
std::vector<std::string> probe_notes(std::span<const ProbeProfile> probes);

}  // namespace shadowprof
