#include "profile/value_bank.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <cstring>

namespace shadowprof {
namespace {

template <typename Value>
std::vector<TopValue> top_values(const ValueSummary<Value>& summary, std::size_t width_bytes) {
    std::vector<TopValue> top;
    for (const auto& estimate : summary.top) {
        TopValue value;
        value.value.resize(width_bytes);
        std::memcpy(value.value.data(), &estimate.value, width_bytes);
        value.count = rounded_count(estimate.count);
        value.error = estimate.error;
        top.push_back(std::move(value));
    }
    return top;
}

std::string operand_name(std::uint16_t reg) {
    const char* name = ZydisRegisterGetString(static_cast<ZydisRegister>(reg));
    return name ? name : "";
}

}  // namespace

template <typename Value>
ValueBank::Index ValueBank::new_site(std::vector<Site<Value>>& sites, SiteId id) const {
    Site<Value>& site = sites.emplace_back(id, seed_);
    if (with_tnv_) site.tnv = std::make_unique<TnvTable<Value>>();
    return static_cast<Index>(sites.size() - 1);
}

ValueBank::Index ValueBank::index(SiteId site, bool wide) {
    auto [found, added] = indices_.try_emplace(site, 0);
    if (added) found->second = wide ? new_site(wide_, site) : new_site(narrow_, site);
    return found->second;
}

template <typename Value>
void ValueTotals::add_sites(BySite<Value>& sums, const std::vector<ValueBank::Site<Value>>& sites) {
    for (const auto& site : sites) {
        Summaries<Value>& sum = sums[site.id];
        add_summary(sum.sample, site.sample.summary());
        if (site.tnv) add_summary(sum.tnv, site.tnv->summary());
    }
}

void ValueTotals::add(const ValueBank& bank) {
    add_sites(narrow_, bank.narrow_sites());
    add_sites(wide_, bank.wide_sites());
}

template <typename Value>
void ValueTotals::append(std::vector<ValueProfile>& profiles, const BySite<Value>& sums,
                         const BlockRegistry& registry) {
    for (const auto& [id, sum] : sums) {
        if (sum.sample.executions == 0) continue;
        const ValueSite site = registry.site(id);
        ValueProfile profile{.at = site.at,
                             .operand = operand_name(site.reg),
                             .width_bytes = site.width_bytes,
                             .count = sum.sample.executions,
                             .top = top_values(sum.sample, site.width_bytes),
                             .top_tnv = top_values(sum.tnv, site.width_bytes)};
        if (!sum.sample.top.empty())
            profile.invariance =
                std::min(1.0, sum.sample.top[0].count / static_cast<double>(sum.sample.executions));
        profiles.push_back(std::move(profile));
    }
}

std::vector<ValueProfile> ValueTotals::profiles(const BlockRegistry& registry) const {
    std::vector<ValueProfile> profiles;
    append(profiles, narrow_, registry);
    append(profiles, wide_, registry);
    std::sort(profiles.begin(), profiles.end(), [](const ValueProfile& a, const ValueProfile& b) {
        if (a.count != b.count) return a.count > b.count;
        return a.at != b.at ? a.at < b.at : a.operand < b.operand;
    });
    return profiles;
}

}  // namespace shadowprof
