// Sets of profile kinds to collect.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "profile/kinds/registry.h"

namespace shadowprof {

// A kind that is derived from others when a report is made.
template <typename Kind>
concept DerivedKind = requires {
    typename Kind::DerivedFrom;
};
// A kind that is collected if it is asked for.
template <typename Kind>
concept CollectedKind = !DerivedKind<Kind> && requires {
    {Kind::option.word};
};

// A set of collected kinds. By default, the usual ones.
class ProfileKinds {
  public:
    constexpr ProfileKinds() {
        for_each_kind_on_request([this]<typename Kind>() {
            if constexpr (CollectedKind<Kind>)
                if (Kind::option.is_usual) *this |= of<Kind>();
        });
    }
    static constexpr ProfileKinds none() { return ProfileKinds(0); }
    static constexpr ProfileKinds all() {
        ProfileKinds kinds = none();
        for_each_kind_on_request([&]<typename Kind>() { kinds |= of<Kind>(); });
        return kinds;
    }
    // The kinds that must be collected for these.
    template <typename... Kind>
    static constexpr ProfileKinds of() {
        ProfileKinds kinds = none();
        ((kinds |= of_one(std::type_identity<Kind>{})), ...);
        return kinds;
    }

    template <CollectedKind Kind>
    constexpr bool has() const {
        return has_all(of<Kind>());
    }
    constexpr bool has_all(ProfileKinds some) const { return (bits_ & some.bits_) == some.bits_; }
    constexpr bool has_any_of(ProfileKinds some) const { return (bits_ & some.bits_) != 0; }
    constexpr bool has_any_of_samples() const { return has_any_of(of_samples()); }

    template <CollectedKind... Kind>
    constexpr ProfileKinds with() const {
        return *this | of<Kind...>();
    }
    template <CollectedKind... Kind>
    constexpr ProfileKinds without() const {
        return ProfileKinds(bits_ & ~of<Kind...>().bits_);
    }
    constexpr ProfileKinds& operator|=(ProfileKinds more) {
        bits_ |= more.bits_;
        return *this;
    }
    friend constexpr ProfileKinds operator|(ProfileKinds a, ProfileKinds b) { return a |= b; }
    friend constexpr ProfileKinds operator&(ProfileKinds a, ProfileKinds b) {
        return ProfileKinds(a.bits_ & b.bits_);
    }
    friend constexpr bool operator==(ProfileKinds, ProfileKinds) = default;

  private:
    explicit constexpr ProfileKinds(std::uint32_t bits) : bits_(bits) {}

    template <typename Kind>
    static constexpr ProfileKinds of_one(std::type_identity<Kind>) {
        if constexpr (DerivedKind<Kind>) {
            return []<typename... From>(std::type_identity<std::tuple<From...>>) {
                return of<From...>();
            }(std::type_identity<typename Kind::DerivedFrom>{});
        } else {
            static_assert(CollectedKind<Kind>);
            return ProfileKinds(std::uint32_t{1} << position<Kind>());
        }
    }
    template <typename Kind>
    static constexpr std::size_t position() {
        std::size_t at = 0, found = 0;
        for_each_kind_on_request([&]<typename Each>() {
            if (std::same_as<Kind, Each>) found = at;
            ++at;
        });
        return found;
    }
    static constexpr ProfileKinds of_samples() {
        ProfileKinds kinds = none();
        for_each_kind_on_request([&]<typename Kind>() {
            if constexpr (CollectedKind<Kind>)
                if (Kind::option.is_of_samples) kinds |= of<Kind>();
        });
        return kinds;
    }

    std::uint32_t bits_ = 0;
};
static_assert(std::tuple_size_v<KindsOnRequest> <= 32);

}  // namespace shadowprof
