#include "profile/kinds/streams/stream_table.h"

#include <algorithm>
#include <functional>

#include "profile/code/index_table.h"
#include "profile/merge/join.h"

namespace shadowprof {
namespace {

std::uint64_t hash_of(std::span<const DataReference> references) {
    std::uint64_t hash = references.size();
    for (const DataReference& r : references)
        hash = mix64(hash ^ mix64(r.address ^ location_hash(r.at)));
    return hash;
}

}  // namespace

// Needs `cuts` as long as `references`. A new candidate has no occurrences.
std::uint32_t StreamTable::find_or_add(std::span<const DataReference> references,
                                       std::span<const std::uint8_t> cuts) {
    const auto hash = hash_of(references);
    const auto found = index_.find(hash, [&](std::uint32_t i) {
        return std::equal(references.begin(), references.end(), candidates_[i].references.begin(),
                          candidates_[i].references.end());
    });
    if (found) return *found;
    index_.insert(hash, candidates_.size());
    candidates_.push_back({.references = {references.begin(), references.end()},
                           .cuts = {cuts.begin(), cuts.end()},
                           .hash = hash,
                           .occurrences = 0});
    return static_cast<std::uint32_t>(candidates_.size() - 1);
}

void StreamTable::add(std::span<const DataReference> references, std::span<const std::uint8_t> cuts,
                      std::uint64_t occurrences) {
    if (references.size() < limits_.min_length || occurrences == 0) return;
    candidates_[find_or_add(references, cuts)].occurrences += occurrences;
    if (candidates_.size() > max_candidates) make_room();
}

void StreamTable::add(const StreamTable& other) {
    for (const Candidate& candidate : other.candidates_)
        add(candidate.references, candidate.cuts, candidate.occurrences);
    left_out_ += other.left_out_;
}

void StreamTable::make_room() {
    std::vector<std::uint64_t> heats;
    for (const Candidate& candidate : candidates_) heats.push_back(candidate.heat());
    const auto middle = heats.begin() + max_candidates / 4;
    std::nth_element(heats.begin(), middle, heats.end(), std::greater<>());
    for (std::uint64_t least = *middle; candidates_.size() > max_candidates / 2; least *= 2)
        left_out_ += keep(least, 1);
}

// Cuts all candidates that are too cold, too rare or too long. The longest come first, so that a
// part has all its occurrences when it is looked at. Returns the number of references that are no
// longer in a candidate.
std::uint64_t StreamTable::keep(std::uint64_t min_heat, std::uint64_t min_occurrences) {
    std::vector<Numbers> by_length;
    for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
        const auto length = candidates_[i].references.size();
        if (length >= by_length.size()) by_length.resize(length + 1);
        by_length[length].push_back(i);
    }
    std::uint64_t dropped = 0;
    for (std::size_t length = by_length.size(); length-- > 0;)
        for (const std::uint32_t number : by_length[length])
            if (length > limits_.max_length || candidates_[number].heat() < min_heat ||
                candidates_[number].occurrences < min_occurrences)
                dropped += cut(number, by_length);
    forget_those_without_occurrences();
    return dropped;
}

// Adds the candidate's occurrences to its parts instead. Returns the number of references that are
// in no part.
std::uint64_t StreamTable::cut(std::uint32_t number, std::vector<Numbers>& by_length) {
    const std::uint64_t occurrences = std::exchange(candidates_[number].occurrences, 0);
    const auto references = candidates_[number].references;
    const auto cuts = candidates_[number].cuts;
    const auto highest = *std::max_element(cuts.begin() + 1, cuts.end());
    if (highest == 0) return references.size() * occurrences;
    std::uint64_t dropped = 0;
    for (std::size_t begin = 0, end = 1; begin < cuts.size(); begin = end, ++end) {
        while (end < cuts.size() && cuts[end] != highest) ++end;
        if (end - begin < limits_.min_length) {
            dropped += (end - begin) * occurrences;
            continue;
        }
        const auto before = candidates_.size();
        const auto part = find_or_add(std::span(references).subspan(begin, end - begin),
                                      std::span(cuts).subspan(begin, end - begin));
        candidates_[part].occurrences += occurrences;
        if (candidates_.size() != before) by_length[end - begin].push_back(part);
    }
    return dropped;
}

void StreamTable::forget_those_without_occurrences() {
    std::erase_if(candidates_, [](const Candidate& c) { return c.occurrences == 0; });
    index_.clear();
    for (std::size_t i = 0; i < candidates_.size(); ++i) index_.insert(candidates_[i].hash, i);
}

std::vector<DataStream> StreamTable::take_streams(std::uint64_t min_heat,
                                                  std::uint64_t min_occurrences) {
    keep(min_heat, min_occurrences);
    std::vector<DataStream> streams;
    for (const Candidate& candidate : candidates_)
        streams.push_back({candidate.references, candidate.occurrences});
    join_and_sort(streams);
    return streams;
}

}  // namespace shadowprof
