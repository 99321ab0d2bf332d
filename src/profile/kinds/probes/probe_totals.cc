#include "profile/kinds/probes/probe_totals.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/code/index_table.h"

namespace shadowprof {
namespace {

std::uint64_t hash_of(const ProbeDatum& datum) {
    if (const auto* number = std::get_if<std::uint64_t>(&datum)) return mix64(*number);
    if (const auto* location = std::get_if<CodeLocation>(&datum)) return location_hash(*location);
    return 0;
}

ProbeDatumKind kind_of(ProbeOperand operand, bool is_signed) {
    if (operand == ProbeOperand::none) return ProbeDatumKind::none;
    if (operand != ProbeOperand::number) return ProbeDatumKind::location;
    return is_signed ? ProbeDatumKind::signed_number : ProbeDatumKind::number;
}

ProbeSum widened(std::uint64_t value, bool is_signed) {
    return is_signed ? ProbeSum{static_cast<std::int64_t>(value)} : ProbeSum{value};
}

// Multiplies a value by a weight. No sum of a run's values overflows.
ProbeSum weighted(std::uint64_t value, bool is_signed, std::uint64_t weight) {
    __extension__ using Bits = unsigned __int128;
    return static_cast<ProbeSum>(static_cast<Bits>(widened(value, is_signed)) * weight);
}

}  // namespace

ProbeProfile empty_probe_profile(const Probe& probe) {
    return {.name = probe.name(),
            .text = probe.text(),
            .reducer = probe.reducer(),
            .value = kind_of(probe.value(), probe.value_is_signed()),
            .key = kind_of(probe.key(), probe.key_is_signed())};
}

ProbeTotals::ProbeTotals(std::span<const Probe> probes, std::uint64_t seed) : seed_(seed) {
    for (const Probe& probe : probes)
        probes_.push_back({probe, empty_probe_profile(probe), {}, {}});
}

void ProbeTotals::add(std::uint32_t probe, const ProbeDatum& value, const ProbeDatum& key,
                      std::uint64_t weight) {
    if (probe >= probes_.size()) return;
    Probed& probed = probes_[probe];
    if (!is_of(value, probed.head.value) || !is_of(key, probed.head.key))
        return add_missed(probe, weight);
    probed.head.hits += weight;
    if (Entry* entry = entry_of(probed, key))
        add_value(probed, *entry, value, weight);
    else
        probed.head.left_out += weight;
}

void ProbeTotals::add_missed(std::uint32_t probe, std::uint64_t weight) {
    if (probe < probes_.size()) probes_[probe].head.missed += weight;
}

void ProbeTotals::add(const ProbeRecord& record, CodeLocation at,
                      std::optional<CodeLocation> caller) {
    if (record.probe >= probes_.size()) return;
    const Probe& probe = probes_[record.probe].probe;
    if (record.missed != 0 || (probe.uses_callers() && !caller)) return add_missed(record.probe);
    const auto datum = [&](ProbeOperand operand, std::uint64_t number) -> ProbeDatum {
        switch (operand) {
            case ProbeOperand::none:
                return {};
            case ProbeOperand::number:
                return number;
            case ProbeOperand::at:
                return at;
            case ProbeOperand::caller:
                return *caller;
        }
        return {};
    };
    add(record.probe, datum(probe.value(), record.value), datum(probe.key(), record.key));
}

bool ProbeTotals::uses_callers() const {
    return std::any_of(probes_.begin(), probes_.end(),
                       [](const Probed& probed) { return probed.probe.uses_callers(); });
}

// Returns null if there is no room for another key.
ProbeTotals::Entry* ProbeTotals::entry_of(Probed& probed, const ProbeDatum& key) {
    const std::uint64_t hash = hash_of(key);
    const auto found =
        probed.index.find(hash, [&](std::uint32_t i) { return probed.entries[i].sums.key == key; });
    if (found) return &probed.entries[*found];
    const bool hotlist = probed.head.reducer == Reducer::hotlist;
    if (probed.entries.size() == (hotlist ? max_hotlists : max_keys)) return nullptr;
    probed.index.insert(hash, probed.entries.size());
    probed.entries.push_back({ProbeEntry{.key = key}, {}, Random(mix64(seed_) ^ hash)});
    return &probed.entries.back();
}

void ProbeTotals::add_value(Probed& probed, Entry& entry, const ProbeDatum& value,
                            std::uint64_t weight) {
    ProbeEntry& sums = entry.sums;
    const bool is_first = sums.count == 0;
    sums.count += weight;
    if (const auto* location = std::get_if<CodeLocation>(&value))
        return entry.sample.add_repeated(number_of(*location), weight, entry.random);
    const auto* number = std::get_if<std::uint64_t>(&value);
    if (number == nullptr) return;
    if (probed.head.reducer == Reducer::hotlist)
        return entry.sample.add_repeated(*number, weight, entry.random);
    const bool is_signed = probed.head.value == ProbeDatumKind::signed_number;
    sums.sum = wrapping_sum(sums.sum, weighted(*number, is_signed, weight));
    if (probed.head.reducer != Reducer::histogram) return;
    sums.histogram[bucket_of(*number, is_signed)] += weight;
    const ProbeSum wide = widened(*number, is_signed);
    if (is_first || wide < widened(sums.least, is_signed)) sums.least = *number;
    if (is_first || wide > widened(sums.most, is_signed)) sums.most = *number;
}

std::uint64_t ProbeTotals::number_of(CodeLocation location) {
    const std::uint64_t hash = location_hash(location);
    const auto found =
        location_index_.find(hash, [&](std::uint32_t i) { return locations_[i] == location; });
    if (found) return *found;
    location_index_.insert(hash, locations_.size());
    locations_.push_back(location);
    return locations_.size() - 1;
}

ProbeEntry ProbeTotals::finished(const Probed& probed, const Entry& entry) const {
    ProbeEntry result = entry.sums;
    if (probed.head.reducer != Reducer::hotlist) return result;
    const auto summary = entry.sample.summary();
    const bool places = probed.head.value == ProbeDatumKind::location;
    for (const auto& estimate : summary.top) {
        const ProbeDatum value =
            places ? ProbeDatum(locations_[estimate.value]) : ProbeDatum(estimate.value);
        result.top.push_back({value, rounded_count(estimate.count), estimate.error});
    }
    result.absent_error = summary.absent_error;
    return result;
}

std::vector<ProbeProfile> ProbeTotals::profiles() const {
    std::vector<ProbeProfile> profiles;
    for (const Probed& probed : probes_) {
        ProbeProfile profile = probed.head;
        for (const Entry& entry : probed.entries)
            profile.entries.push_back(finished(probed, entry));
        settle(profile);
        profiles.push_back(std::move(profile));
    }
    return profiles;
}

std::vector<std::string> ProbeTotals::notes() const {
    std::vector<ProbeProfile> heads;
    for (const Probed& probed : probes_) heads.push_back(probed.head);
    return probe_notes(heads);
}

std::vector<std::string> probe_notes(std::span<const ProbeProfile> probes) {
    std::vector<std::string> notes;
    for (const ProbeProfile& probe : probes) {
        if (probe.left_out == 0) continue;
        notes.push_back(
            fmt::format("probe '{}': {} of {} events were left out, as there were too "
                        "many keys",
                        probe.name, probe.left_out, probe.hits));
    }
    return notes;
}

}  // namespace shadowprof
