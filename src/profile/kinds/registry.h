// The list of all kinds of profiles.
#pragma once

#include <tuple>
#include <type_traits>

#include "profile/profile.h"

namespace shadowprof {

// In the order of the profile file. A kind has:
//
//   Record              the type of its list's elements, with the functions fields() (fields.h),
//                       identity(), which tells equal records, heat(), by which they are sorted,
//                       and add(sum, record)
//   name                the name of the list in the file
//   of(profile)         the list
//
// and may have:
//
//   is_kept_whole       the list is not cut to the hottest, as its times are the run's
//   host_name, host_of(profile)
//                       facts about the machine or a model, written after the list
//   unequal_hosts       with host_name: the note of merged profiles that do not agree on them
//   settle_moved(record)   to be called after modules were renumbered
//   CollectedWith       the kind on request that it is collected with
//   subtract_all(list, earlier)
//                       computes a phase's list (phase.h); without it, records have subtract()
//                       and maybe is_empty() (difference.h)
//   of_whole_run_alone  phases do not have it; a note uses this name for it
using Kinds = std::tuple<EdgeList, PathList, StackList, CallList, MethodList, ValueList, HazardList,
                         AddressList, ThreadList, TimeList, LatencyList, StreamList, SystemCallList,
                         WaitList, AllocationList, CallCostList, BranchList, CacheList, ProbeList>;

// The kinds that --profiles can name, in the order in which they are listed. Such a kind also has:
//
//   option              KindOption
//   DerivedFrom         if it is not collected itself: a tuple of the kinds it is derived from
//   is_flat_without_request
//                       optional: without the request its collector leaves out detail, and the list
//                       stays
//   table               optional: TableNames. Reports and pages then show the kind as a table of
//                       its fields; otherwise they have their own list for it
using KindsOnRequest = std::tuple<EdgeList, PathList, StackList, ValueList, CallList, MethodList,
                                  LatencyList, StreamList, HazardList, SystemCallList, WaitList,
                                  AllocationList, CallCostList, BranchList, CacheList>;

// Calls visit.operator()<Kind>() for each type in the tuple.
template <typename Tuple, typename Visit>
constexpr void for_each_kind_of(Visit visit) {
    [&]<typename... Kind>(std::type_identity<std::tuple<Kind...>>) {
        (visit.template operator()<Kind>(), ...);
    }(std::type_identity<Tuple>{});
}
template <typename Visit>
constexpr void for_each_kind(Visit visit) {
    for_each_kind_of<Kinds>(visit);
}
template <typename Visit>
constexpr void for_each_kind_on_request(Visit visit) {
    for_each_kind_of<KindsOnRequest>(visit);
}

// Calls visit(location) for each CodeLocation in `profile`, constant or not. `visit` may change the
// locations of a profile that is not constant.
void for_each_location(Like<Profile> auto& profile, auto visit) {
    LocationVisitor visitor(visit);
    for_each_kind([&]<typename Kind>() {
        for (auto& record : Kind::of(profile)) fields(visitor, record);
    });
    if (profile.timeline) fields(visitor, *profile.timeline);
}

}  // namespace shadowprof
