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
using Kinds = std::tuple<EdgeList, PathList, StackList, CallList, MethodList, ValueList, HazardList,
                         AddressList, ThreadList, ClockList, LatencyList, StreamList, ProbeList>;

// Calls visit.operator()<Kind>() for each.
template <typename Visit>
constexpr void for_each_kind(Visit visit) {
    [&]<typename... Kind>(std::type_identity<std::tuple<Kind...>>) {
        (visit.template operator()<Kind>(), ...);
    }(std::type_identity<Kinds>{});
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
