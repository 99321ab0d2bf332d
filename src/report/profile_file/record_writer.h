// Writes the records of a profile: a visitor of their fields (profile/kinds/fields.h,
// profile/run_fields.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/text/hex_text.h"
#include "report/profile_file/json_writer.h"
#include "report/profile_file/location_numbers.h"

namespace shadowprof {

// Writes members of the object that is open in `json`. Places are written as
// write_place(json, places, location) does.
template <typename Places>
class RecordWriterWith {
  public:
    static constexpr bool reads = false;

    // `is_timed`: the profile has times.
    RecordWriterWith(JsonWriter& json, Places& places, bool is_timed)
        : json_(json), places_(places), is_timed_(is_timed) {}

    void location(std::string_view name, CodeLocation l) {
        json_.key(name);
        write_place(json_, places_, l);
    }
    void location_if(bool is_here, std::string_view name, CodeLocation l) {
        if (is_here) location(name, l);
    }
    void locations(std::string_view name, const auto& items) {
        json_.array(name, items, [&](CodeLocation l) { write_place(json_, places_, l); });
    }
    void references(std::string_view name, const auto& items, std::size_t) {
        json_.array(name, items, [&](const auto& reference) {
            json_.begin_array();
            write_place(json_, places_, reference.at);
            json_.value(hex_text(reference.address));
            json_.end_array();
        });
    }
    void count(std::string_view name, std::uint64_t n) { json_.member(name, n); }
    void count_up_to(std::string_view name, std::uint64_t n, std::uint64_t) { count(name, n); }
    void known_count(std::string_view name, const std::optional<std::uint64_t>& n) {
        if (n) count(name, *n);
    }
    void nullable_count(std::string_view name, const std::optional<std::uint64_t>& n) {
        json_.member(name, n);
    }
    void nonzero_count(std::string_view name, std::uint64_t n) {
        if (n != 0) count(name, n);
    }
    void timed_count(std::string_view name, std::uint64_t n) {
        if (is_timed_) count(name, n);
    }
    void added_count(std::string_view name, std::uint64_t n) { count(name, n); }
    void count_or(std::string_view name, std::uint64_t n, std::string_view) { count(name, n); }
    void count_if(bool is_here, std::string_view name, std::uint64_t n) {
        if (is_here) count(name, n);
    }
    void count_unless(std::uint64_t usual, std::string_view name, std::uint64_t n) {
        count_if(n != usual, name, n);
    }
    void small_count(std::string_view name, std::uint32_t n) { count(name, n); }
    void flag(std::string_view name, bool b) { json_.member(name, b); }
    void words(std::string_view name, const std::vector<std::string>& list) {
        json_.array(name, list, [&](const std::string& word) { json_.value(word); });
    }
    void known_int(std::string_view name, const std::optional<int>& n) {
        if (n) json_.member(name, *n);
    }
    void nullable_integer(std::string_view name, const std::optional<std::int64_t>& n) {
        json_.member(name, n);
    }
    void integer(std::string_view name, std::int64_t n) { json_.member(name, n); }
    void hex(std::string_view name, std::uint64_t n) { json_.member(name, hex_text(n)); }
    void number(std::string_view name, double x) { json_.member(name, x); }
    void renamed_number(std::string_view name, double x, std::string_view) { number(name, x); }
    void known_number(std::string_view name, const std::optional<double>& x) {
        if (x) number(name, *x);
    }
    void known_nonzero_number(std::string_view name, const std::optional<double>& x) {
        if (x.value_or(0) != 0) number(name, *x);
    }
    void nullable_number(std::string_view name, const std::optional<double>& x) {
        json_.member(name, x);
    }
    void text(std::string_view name, std::string_view s) { json_.member(name, s); }
    void text_or_null(std::string_view name, std::string_view s) { json_.text_or_null(name, s); }
    void choice(std::string_view name, auto chosen, const auto& names) {
        text(name, names.at(static_cast<std::size_t>(chosen)));
    }
    void encoded(std::string_view name, const auto& value, const auto& code, std::string_view) {
        text(name, code.text(value));
    }
    void derived(std::string_view name, const auto& make) { json_.member(name, make()); }
    void object(std::string_view name, const auto& each) {
        json_.key(name);
        json_.begin_object();
        each(*this);
        json_.end_object();
    }
    void object_if(bool is_here, std::string_view name, const auto& each) {
        if (is_here) object(name, each);
    }
    void list(std::string_view name, const auto& items, const auto& each) {
        json_.array(name, items, [&](const auto& item) {
            json_.begin_object();
            each(*this, item);
            json_.end_object();
        });
    }
    void parts(std::string_view name, const auto& items, const auto& each) {
        if (!items.empty()) list(name, items, each);
    }
    void map(std::string_view name, const std::map<std::string, std::uint64_t>& counts) {
        json_.map(name, counts);
    }
    void added_map(std::string_view name, const std::map<std::string, std::uint64_t>& counts) {
        map(name, counts);
    }
    void text_map(std::string_view name, const std::map<std::string, std::string>& texts) {
        json_.map(name, texts);
    }
    void optional(std::string_view name, const auto& maybe, const auto& each) {
        if (maybe) object(name, [&](auto& inner) { each(inner, *maybe); });
    }
    void small_counts(std::string_view name, const auto& counts) {
        json_.array(name, counts, [&](std::uint32_t n) { json_.value(n); });
    }
    void columns(std::string_view name, const auto& records, const auto& columns) {
        object(name, [&](auto&) {
            const auto write = [&](const auto& column) {
                json_.array(column.name, records,
                            [&](const auto& record) { json_.value(record.*column.member); });
            };
            std::apply([&](const auto&... column) { (write(column), ...); }, columns);
        });
    }
    void pairs(std::string_view name, const auto& counts, const auto&) {
        json_.array(name, counts, [&](const auto& pair) {
            json_.begin_array();
            json_.value(pair.first);
            json_.value(pair.second);
            json_.end_array();
        });
    }
    void pairs_of_several(std::string_view name, const auto& counts, const auto& limits) {
        if (counts.size() > 1) pairs(name, counts, limits);
    }

  private:
    JsonWriter& json_;
    Places& places_;
    bool is_timed_;
};

// In a profile file, places are numbers.
inline void write_place(JsonWriter& json, const LocationNumbers& numbers, CodeLocation at) {
    json.value(numbers.of(at));
}
using RecordWriter = RecordWriterWith<const LocationNumbers>;

}  // namespace shadowprof
