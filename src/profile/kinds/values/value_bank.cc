#include "profile/kinds/values/value_bank.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <cstring>

namespace shadowprof {
namespace {

// A caller's values are most useful if they are constant. More values would make profiles large.
constexpr std::size_t max_values_of_caller = 4;

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

// Returns the most frequent values for each stack of callers, hottest callers first.
template <typename Value>
std::vector<CallerValues> caller_values(
    const std::map<std::vector<CodeLocation>, ValueSummary<Value>>& by_caller,
    std::size_t width_bytes) {
    std::vector<CallerValues> list;
    for (const auto& [callers, summary] : by_caller) {
        if (summary.executions == 0) continue;
        CallerValues values{.callers = callers,
                            .count = summary.executions,
                            .top = top_values(summary, width_bytes),
                            .absent_error = summary.absent_error,
                            .compensation = summary.compensation};
        if (values.top.size() > max_values_of_caller) {
            const TopValue& cut = values.top[max_values_of_caller];
            values.absent_error =
                std::max(summary.absent_error, static_cast<double>(cut.count) + cut.error);
            values.top.resize(max_values_of_caller);
        }
        list.push_back(std::move(values));
    }
    std::stable_sort(list.begin(), list.end(), [](const CallerValues& a, const CallerValues& b) {
        return a.count > b.count;
    });
    return list;
}

std::string operand_name(std::uint16_t reg) {
    const char* name = ZydisRegisterGetString(static_cast<ZydisRegister>(reg));
    return name ? name : "";
}

}  // namespace

template <typename Value>
ValueBank::Index ValueBank::new_site(std::vector<Site<Value>>& sites, SiteId id) const {
    sites.push_back({id, SiteValues<Value>(mix64(seed_) ^ mix64(id), with_tnv_)});
    return static_cast<Index>(sites.size() - 1);
}

ValueBank::Index ValueBank::index(SiteId site, bool wide) {
    auto [found, added] = indices_.try_emplace(site, 0);
    if (added) found->second = wide ? new_site(wide_, site) : new_site(narrow_, site);
    return found->second;
}

template <typename Value>
void ValueTotals::add_sites(BySite<Value>& sums, const std::vector<ValueBank::Site<Value>>& sites,
                            const CallerTable& callers) {
    for (const auto& site : sites) {
        Summaries<Value>& sum = sums[site.id];
        add_summary(sum.sample, site.values.sample().summary());
        if (site.values.tnv()) add_summary(sum.tnv, site.values.tnv()->summary());
        site.values.for_each_caller([&](CallerId caller, const auto& sample) {
            add_summary(sum.by_caller[callers[caller]], sample.summary());
        });
    }
}

void ValueTotals::add(const ValueBank& bank, const CallerTable& callers) {
    add_sites(narrow_, bank.narrow_sites(), callers);
    add_sites(wide_, bank.wide_sites(), callers);
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
                             .type = site.type,
                             .count = sum.sample.executions,
                             .top = top_values(sum.sample, site.width_bytes),
                             .top_tnv = top_values(sum.tnv, site.width_bytes),
                             .compensation = sum.sample.compensation};
        profile.by_caller = caller_values(sum.by_caller, site.width_bytes);
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
