// The value profiles of one worker: a hotlist for each site, and one for each stack of callers that
// led to the site.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "profile/code/block_registry.h"
#include "profile/collect/callers.h"
#include "profile/kinds/values/site_values.h"

namespace shadowprof {

class ValueBank {
  public:
    // Numbers a site's hotlists within one bank.
    using Index = std::uint32_t;
    static constexpr std::size_t narrow_bytes = 8;  // wider values go to add_wide()

    ValueBank(std::uint64_t seed, bool with_tnv) : seed_(seed), with_tnv_(with_tnv) {}

    Index index(SiteId site, bool wide);

    // Adds executions of a site: see SiteValues. Needs an index that was made for that width.
    void add_narrow(Index index, std::span<const std::uint64_t> column,
                    std::span<const CallerRun> callers) {
        narrow_[index].values.add(column, callers);
    }
    void add_wide(Index index, std::span<const WideValue> column,
                  std::span<const CallerRun> callers) {
        wide_[index].values.add(column, callers);
    }
    void add_narrow(Index index, std::uint64_t value, std::uint64_t times,
                    std::span<const CallerRun> callers) {
        narrow_[index].values.add_repeated(value, times, callers);
    }
    void add_wide(Index index, const WideValue& value, std::uint64_t times,
                  std::span<const CallerRun> callers) {
        wide_[index].values.add_repeated(value, times, callers);
    }

    template <typename Value>
    struct Site {
        SiteId id = 0;
        SiteValues<Value> values;
    };
    const std::vector<Site<std::uint64_t>>& narrow_sites() const { return narrow_; }
    const std::vector<Site<WideValue>>& wide_sites() const { return wide_; }

  private:
    template <typename Value>
    Index new_site(std::vector<Site<Value>>& sites, SiteId id) const;

    std::uint64_t seed_;
    bool with_tnv_;
    std::vector<Site<std::uint64_t>> narrow_;
    std::vector<Site<WideValue>> wide_;
    std::unordered_map<SiteId, Index> indices_;
};

// Sums over the banks of several workers.
class ValueTotals {
  public:
    // `callers` must be the table that the bank was filled with.
    void add(const ValueBank& bank, const CallerTable& callers);
    // Hottest first, without invariance. Sites without values are left out.
    std::vector<ValueProfile> profiles(const BlockRegistry& registry) const;

  private:
    // Keys are stacks of callers, innermost first.
    template <typename Value>
    using ByCaller = std::map<std::vector<CodeLocation>, ValueSummary<Value>>;
    template <typename Value>
    struct Summaries {
        ValueSummary<Value> sample, tnv;
        ByCaller<Value> by_caller;
    };
    template <typename Value>
    using BySite = std::map<SiteId, Summaries<Value>>;

    template <typename Value>
    static void add_sites(BySite<Value>& sums, const std::vector<ValueBank::Site<Value>>& sites,
                          const CallerTable& callers);
    template <typename Value>
    static void append(std::vector<ValueProfile>& profiles, const BySite<Value>& sums,
                       const BlockRegistry& registry);

    BySite<std::uint64_t> narrow_;
    BySite<WideValue> wide_;
};

}  // namespace shadowprof
