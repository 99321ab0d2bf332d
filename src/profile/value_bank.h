// The value profiles of one worker: a hotlist for each site whose values came by.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
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

    ValueBank(std::uint64_t seed, bool with_tnv) : seed_(seed), with_tnv_(with_tnv) {}

    Index index(SiteId site, bool wide);

    // Executions of a site, in their order. Need an index that was made for that width.
    void add_narrow(Index index, std::span<const std::uint64_t> column) {
        narrow_[index].add(column);
    }
    void add_wide(Index index, std::span<const WideValue> column) { wide_[index].add(column); }
    // So many that had the same result.
    void add_narrow(Index index, std::uint64_t value, std::uint64_t times) {
        narrow_[index].add_repeated(value, times);
    }
    void add_wide(Index index, const WideValue& value, std::uint64_t times) {
        wide_[index].add_repeated(value, times);
    }

    template <typename Value>
    struct Site {
        CountingSample<Value> sample;
        Random random;  // its own: what other sites do changes nothing
        SiteId id = 0;
        std::unique_ptr<TnvTable<Value>> tnv;

        Site(SiteId site, std::uint64_t seed) : random(mix64(seed) ^ mix64(site)), id(site) {}
        void add(std::span<const Value> column) {
            sample.add(column, random);
            if (!tnv) return;
            for (const Value& value : column) tnv->add(value, random);
        }
        void add_repeated(const Value& value, std::uint64_t times) {
            sample.add_repeated(value, times, random);
            if (!tnv) return;
            for (std::uint64_t i = 0; i < times; ++i) tnv->add(value, random);
        }
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
