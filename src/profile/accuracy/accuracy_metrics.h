// The formulas of the metrics in profile/accuracy/accuracy.h, over plain counts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace shadowprof {

// The count, or the share, of one key in each of two profiles.
template <typename Key>
struct CountPair {
    Key key;
    double full = 0, sampled = 0;
};

// Sums up the counts of two profiles by key.
template <typename Key>
class CountPairs {
  public:
    void add_full(const Key& key, std::uint64_t count) {
        counts_[key].first += static_cast<double>(count);
        total_full_ += static_cast<double>(count);
    }
    void add_sampled(const Key& key, std::uint64_t count) {
        counts_[key].second += static_cast<double>(count);
        total_sampled_ += static_cast<double>(count);
    }
    // Returns each key's share of all counts of its profile, in the order of keys. All shares of a
    // profile without counts are 0.
    std::vector<CountPair<Key>> shares() const {
        std::vector<CountPair<Key>> list;
        for (const auto& [key, counts] : counts_)
            list.push_back({key, total_full_ > 0 ? counts.first / total_full_ : 0,
                            total_sampled_ > 0 ? counts.second / total_sampled_ : 0});
        return list;
    }

  private:
    std::map<Key, std::pair<double, double>> counts_;
    double total_full_ = 0, total_sampled_ = 0;
};

// A metric over shares. `of` holds what each share adds to the metric's distance, in the same
// order.
struct Distances {
    double value = 0;
    std::size_t entries = 0;  // number of entries looked at
    std::vector<double> of;
};

inline constexpr double hottest_paths_share = 0.05;
inline constexpr double overlap_share = 0.9;

template <typename Key>
Distances edge_distances(const std::vector<CountPair<Key>>& shares) {
    Distances d;
    double sum = 0;
    for (const auto& pair : shares) {
        d.of.push_back(std::abs(pair.full - pair.sampled) / 2);
        sum += d.of.back();
        d.entries += pair.full > 0;
    }
    d.value = std::max(0.0, 1 - sum);
    return d;
}

// Returns the indices of `shares`, hottest first; equally hot ones in the order of keys.
template <typename Key>
std::vector<std::size_t> hottest_first(const std::vector<CountPair<Key>>& shares,
                                       double CountPair<Key>::*share) {
    std::vector<std::size_t> order(shares.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return shares[a].*share > shares[b].*share;
    });
    return order;
}

template <typename Key>
Distances path_distances(const std::vector<CountPair<Key>>& shares) {
    const auto in_full = static_cast<double>(std::count_if(
        shares.begin(), shares.end(), [](const auto& pair) { return pair.full > 0; }));
    Distances d;
    d.entries = static_cast<std::size_t>(std::max(1.0, std::floor(hottest_paths_share * in_full)));
    d.of.resize(shares.size());
    std::vector<bool> hot_in_sampled(shares.size());
    const auto of_full = hottest_first(shares, &CountPair<Key>::full);
    const auto of_sampled = hottest_first(shares, &CountPair<Key>::sampled);
    const std::size_t hottest = std::min(d.entries, shares.size());
    for (std::size_t i = 0; i < hottest; ++i)
        hot_in_sampled[of_sampled[i]] = shares[of_sampled[i]].sampled > 0;
    double flow = 0, missed = 0;
    for (std::size_t i = 0; i < hottest; ++i) flow += shares[of_full[i]].full;
    for (std::size_t i = 0; i < hottest && flow > 0; ++i) {
        const std::size_t at = of_full[i];
        if (hot_in_sampled[at]) continue;
        d.of[at] = shares[at].full / flow;
        missed += d.of[at];
    }
    d.value = std::max(0.0, 1 - missed);
    return d;
}

template <typename Key>
Distances overlap_distances(const std::vector<CountPair<Key>>& shares) {
    Distances d;
    d.of.resize(shares.size());
    const auto order = hottest_first(shares, &CountPair<Key>::full);
    double top = 0, lacking = 0;
    // The tolerance is for rounding: shares that make up exactly 90% need not add up to 0.9.
    while (d.entries < order.size() && top < overlap_share - 1e-12)
        top += shares[order[d.entries++]].full;
    for (std::size_t i = 0; i < d.entries && top > 0; ++i) {
        const auto& pair = shares[order[i]];
        d.of[order[i]] = (pair.full - std::min(pair.full, pair.sampled)) / top;
        lacking += d.of[order[i]];
    }
    d.value = std::max(0.0, 1 - lacking);
    return d;
}

}  // namespace shadowprof
