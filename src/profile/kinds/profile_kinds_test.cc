#include "profile/kinds/profile_kinds.h"

#include <doctest/doctest.h>

#include <set>

namespace shadowprof::profile_kinds_test {

TEST_CASE("without a request the usual kinds are collected") {
    const ProfileKinds usual;
    CHECK(usual ==
          ProfileKinds::of<EdgeList, PathList, StackList, ValueList, CallList, WaitList>());
    CHECK(usual.has<EdgeList>());
    CHECK_FALSE(usual.has<LatencyList>());
    CHECK(usual.with<LatencyList>().has<LatencyList>());
    CHECK_FALSE(usual.without<EdgeList>().has<EdgeList>());
    CHECK((usual | ProfileKinds::all()) == ProfileKinds::all());
    CHECK((usual & ProfileKinds::of<EdgeList, StreamList>()) == ProfileKinds::of<EdgeList>());
}

TEST_CASE("a kind that is derived takes what it is derived from") {
    CHECK(ProfileKinds::of<MethodList>() == ProfileKinds::of<EdgeList, CallList>());
    CHECK(ProfileKinds().has_all(ProfileKinds::of<MethodList>()));
    CHECK_FALSE(ProfileKinds::of<EdgeList>().has_all(ProfileKinds::of<MethodList>()));
    CHECK(ProfileKinds::of<EdgeList>().has_any_of(ProfileKinds::of<MethodList>()));
}

TEST_CASE("latency and waits are not of samples, all others are") {
    CHECK_FALSE(ProfileKinds::none().has_any_of(ProfileKinds::all()));
    CHECK(ProfileKinds::of<LatencyList>().has_any_of(ProfileKinds::all()));
    CHECK_FALSE(ProfileKinds::of<LatencyList, WaitList>().has_any_of_samples());
    CHECK(ProfileKinds::of<HazardList>().has_any_of_samples());
}

TEST_CASE("words of kinds are all different") {
    std::set<std::string_view> words;
    for_each_kind_on_request([&]<typename Kind>() {
        CAPTURE(Kind::option.word);
        CHECK(words.insert(Kind::option.word).second);
    });
    CHECK(words.size() == std::tuple_size_v<KindsOnRequest>);
}

}  // namespace shadowprof::profile_kinds_test
