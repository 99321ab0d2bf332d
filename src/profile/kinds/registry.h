// All kinds of a profile's lists.
#pragma once

#include <tuple>
#include <type_traits>

#include "profile/profile.h"

namespace shadowprof {

// In the order of the profile file. A kind has:
//
//   Record                 what its list consists of, with the functions fields() (fields.h),
//                          identity(), by which records are one, heat(), by which they are sorted,
//                          and add(sum, record)
//   name                   of the list in the file
//   of(profile)            the list
//   is_kept_whole          if it has that: it is not cut to the hottest, as its times are the run's
//   host_name, host_of(profile)
//                          if it has them: what is known of the machine, behind the list
//   settle_moved(record)   if it has one: to be called after modules were numbered anew
//   CollectedWith          if it has that: the kind on request that it comes with
//   subtract_all(list, earlier)
//                          if it has that: what a phase of a run has (phase.h). Else records have
//                          subtract() and maybe is_empty() (difference.h)
//   of_whole_run_alone     if it has that: phases do not have it, and a note calls it so
using Kinds = std::tuple<EdgeList, PathList, StackList, CallList, MethodList, ValueList, HazardList,
                         AddressList, ThreadList, ClockList, LatencyList, StreamList,
                         SystemCallList, ProbeList>;

// What --profiles has words for, in the order in which they are listed. Such a kind has beside
// that:
//
//   option                 KindOption
//   DerivedFrom            if it is not collected itself: a tuple of those that it is made of
//   table                  if it has that: TableNames, and reports and pages show it as a table of
//                          its fields. Else they have a list of its own for it
using KindsOnRequest = std::tuple<EdgeList, PathList, ValueList, CallList, MethodList, LatencyList,
                                  StreamList, HazardList, SystemCallList>;

// Calls visit.operator()<Kind>() for each of a tuple.
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

// Calls visit(location) for each CodeLocation in `profile`, constant or not. `visit` may change
// those of one that is not.
void for_each_location(Like<Profile> auto& profile, auto visit) {
    LocationVisitor visitor(visit);
    for_each_kind([&]<typename Kind>() {
        for (auto& record : Kind::of(profile)) fields(visitor, record);
    });
}

}  // namespace shadowprof
