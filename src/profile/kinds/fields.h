// The one description of a profile kind's records, which all code that visits records uses.
//
// A kind has a function `fields(visitor, record)` that hands each member of a record to the visitor
// under its name in the profile file, in the order of the file. One visitor writes them
// (report/profile_file/record_writer.h), one reads them (report/profile_file/record_reader.h), one
// visits the locations (LocationVisitor), and one renumbers the modules of locations (merge.cc).
// `record` is constant for visitors that do not change it. A visitor has:
//
//   reads                       a constant: true if it fills an empty record, member by member
//   location(name, l)           a CodeLocation
//   location_if(here, name, l)  the same, neither written nor read unless `here`
//   locations(name, list)       a list of CodeLocations
//   references(name, list, n)   DataReferences, at most n
//   count(name, n)              a whole number, not below 0
//   count_up_to(name, n, most)  the same with a limit
//   known_count(name, maybe)    left out of the file where it is not known
//   nullable_count(name, maybe) null in the file where it is not known
//   nonzero_count(name, n)      left out where it is 0
//   timed_count(name, n)      left out where the profile has no times
//   added_count(name, n)        0 if the file is of an earlier version, without this member
//   count_or(name, n, other)    the member `other` if the file is of such a version
//   integer(name, n)            a whole number
//   hex(name, n)                a whole number that may pass 2^53
//   number(name, x)             a double
//   renamed_number(name, x, old) a double, which earlier versions called `old`
//   known_number(name, maybe)   left out where it is not known
//   known_nonzero_number(name, maybe)
//                               left out where it is not known, or 0
//   nullable_number(name, maybe) null where it is not known
//   text(name, s)               a string
//   text_or_null(name, s)       null where it is empty
//   choice(name, e, names)      an enumeration by its names
//   encoded(name, value, code, what)
//                               a value written as text: code.text(value), code.value(text)
//   derived(name, make)         make(), computed from other members: written, never read
//   object(name, each)          an object, whose members each(visitor) visits
//   object_if(here, name, each) the same, written only if `here`, read if it is present
//   list(name, items, each)     objects: each(visitor, item)
//   parts(name, items, each)    the same, left out where there are none; parts whose locations are
//                               not known may be dropped
//   map(name, counts)           counts by name
//   pairs(name, counts, limits) [key, count], keys and counts within the limits
//   pairs_of_several(name, counts, limits)
//                               the same, left out unless there are two
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

#include "profile/code_location.h"

namespace shadowprof {

// `Record` or `const Record`.
template <typename T, typename Record>
concept Like = std::same_as<std::remove_const_t<T>, Record>;

// The limits within which pairs() accepts keys and counts from a profile file.
template <typename Key>
struct PairLimits {
    Key min_key = std::numeric_limits<Key>::min();
    Key max_key = std::numeric_limits<Key>::max();
    std::uint64_t max_count = std::numeric_limits<std::uint64_t>::max();
    std::string_view what;  // for errors: "a list of pairs of ..."
};

// Calls visit(location) for each location of a record and ignores all other members. `visit` may
// change the locations of a record that is not constant. If `visit` has take_parts(parts,
// visit_part), that is called for parts instead.
template <typename Visit>
class LocationVisitor {
  public:
    static constexpr bool reads = false;

    explicit LocationVisitor(Visit& visit) : visit_(visit) {}

    void location(std::string_view, auto& at) { visit_(at); }
    void location_if(bool is_here, std::string_view, auto& at) {
        if (is_here) visit_(at);
    }
    void locations(std::string_view, auto& list) {
        for (auto& at : list) visit_(at);
    }
    void references(std::string_view, auto& list, std::size_t) {
        for (auto& reference : list) visit_(reference.at);
    }
    void object(std::string_view, auto each) { each(*this); }
    void object_if(bool, std::string_view, auto each) { each(*this); }
    void list(std::string_view, auto& items, auto each) {
        for (auto& item : items) each(*this, item);
    }
    void parts(std::string_view name, auto& items, auto each) {
        const auto visit_part = [&](auto& part) { each(*this, part); };
        if constexpr (requires { visit_.take_parts(items, visit_part); })
            visit_.take_parts(items, visit_part);
        else
            list(name, items, each);
    }

    void count(std::string_view, const auto&) {}
    void count_up_to(std::string_view, const auto&, std::uint64_t) {}
    void known_count(std::string_view, const auto&) {}
    void nullable_count(std::string_view, const auto&) {}
    void nonzero_count(std::string_view, const auto&) {}
    void timed_count(std::string_view, const auto&) {}
    void added_count(std::string_view, const auto&) {}
    void count_or(std::string_view, const auto&, std::string_view) {}
    void renamed_number(std::string_view, const auto&, std::string_view) {}
    void integer(std::string_view, const auto&) {}
    void hex(std::string_view, const auto&) {}
    void number(std::string_view, const auto&) {}
    void known_number(std::string_view, const auto&) {}
    void known_nonzero_number(std::string_view, const auto&) {}
    void nullable_number(std::string_view, const auto&) {}
    void text(std::string_view, const auto&) {}
    void text_or_null(std::string_view, const auto&) {}
    void choice(std::string_view, const auto&, const auto&) {}
    void encoded(std::string_view, const auto&, const auto&, std::string_view) {}
    void derived(std::string_view, const auto&) {}
    void words(std::string_view, const auto&) {}
    void small_counts(std::string_view, const auto&) {}
    void columns(std::string_view, const auto&, const auto&) {}
    void map(std::string_view, const auto&) {}
    void pairs(std::string_view, const auto&, const auto&) {}
    void pairs_of_several(std::string_view, const auto&, const auto&) {}

  private:
    Visit& visit_;
};

}  // namespace shadowprof
