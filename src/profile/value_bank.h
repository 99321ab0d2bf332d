// The value profiles of one worker: a hotlist for each site whose values came by.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "profile/block_registry.h"
#include "profile/counting_sample.h"
#include "profile/tnv_table.h"

namespace shadowprof {

class ValueBank {
  public:
    // Names a site's hotlists within one bank.
    using Index = std::uint32_t;
    static constexpr std::size_t narrow_bytes = 8;  // wider values go to add_wide()

    ValueBank(std::uint64_t seed, bool with_tnv) : random_(seed), with_tnv_(with_tnv) {}

    Index index(SiteId site, bool wide);

    // One more execution of a site. Need an index that was made for that width.
    void add_narrow(Index index, std::uint64_t value) { narrow_[index].add(value, random_); }
    void add_wide(Index index, const WideValue& value) { wide_[index].add(value, random_); }

    template <typename Value>
    struct Site {
        SiteId id = 0;
        CountingSample<Value> sample;
        std::optional<TnvTable<Value>> tnv;

        void add(const Value& value, Random& random) {
            sample.add(value, random);
            if (tnv) tnv->add(value, random);
        }
    };
    const std::vector<Site<std::uint64_t>>& narrow_sites() const { return narrow_; }
    const std::vector<Site<WideValue>>& wide_sites() const { return wide_; }

  private:
    template <typename Value>
    Index new_site(std::vector<Site<Value>>& sites, SiteId id) const;

    Random random_;
    bool with_tnv_;
    std::vector<Site<std::uint64_t>> narrow_;
    std::vector<Site<WideValue>> wide_;
    std::unordered_map<SiteId, Index> indices_;
};

// What the banks of several workers say together.
class ValueTotals {
  public:
    void add(const ValueBank& bank);
    // Hottest first. Sites of which no value was seen are left out.
    std::vector<ValueProfile> profiles(const BlockRegistry& registry) const;

  private:
    template <typename Value>
    struct Summaries {
        ValueSummary<Value> sample, tnv;
    };
    template <typename Value>
    using BySite = std::map<SiteId, Summaries<Value>>;

    template <typename Value>
    static void add_sites(BySite<Value>& sums, const std::vector<ValueBank::Site<Value>>& sites);
    template <typename Value>
    static void append(std::vector<ValueProfile>& profiles, const BySite<Value>& sums,
                       const BlockRegistry& registry);

    BySite<std::uint64_t> narrow_;
    BySite<WideValue> wide_;
};

}  // namespace shadowprof
