// Reads the records of a profile: a visitor of their fields (profile/kinds/fields.h,
// profile/run_fields.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text/hex_text.h"
#include "profile/code_location.h"
#include "profile/kinds/fields.h"
#include "report/profile_file/json_fields.h"

namespace shadowprof {

// A CodeLocation that holds a location's number. It is resolved when the whole file is read, as the
// list of locations may come last.
inline CodeLocation unresolved(std::uint64_t number) {
    return {0, number};
}

// Reads the members of one object, whose first error is kept in `in`. Wrong members get a default
// value.
class RecordReader {
  public:
    static constexpr bool reads = true;

    explicit RecordReader(JsonFields& in) : in_(in) {}

    void location(std::string_view name, CodeLocation& l) { l = unresolved(in_.count(name)); }
    void location_if(bool is_here, std::string_view name, CodeLocation& l) {
        if (is_here) location(name, l);
    }
    void locations(std::string_view name, std::vector<CodeLocation>& list) {
        for (const std::uint64_t number : in_.counts(name)) list.push_back(unresolved(number));
    }
    void references(std::string_view name, auto& list, std::size_t most) {
        for (const auto& pair : in_.array(name)) {
            const bool is_pair = pair.is_array() && pair.size() == 2 &&
                                 pair[0].is_number_unsigned() && pair[1].is_string();
            const auto address =
                is_pair ? parse_hex(pair[1].template get_ref<const std::string&>()) : std::nullopt;
            if (!address || list.size() == most)
                return in_.fail(name, "a list of pairs of locations and addresses");
            list.push_back({unresolved(pair[0].template get<std::uint64_t>()), *address});
        }
    }
    void count(std::string_view name, std::uint64_t& n) { n = in_.count(name); }
    void count_up_to(std::string_view name, std::uint64_t& n, std::uint64_t most) {
        n = in_.count(name);
        if (n > most) in_.fail(name, "a count");
        n = std::min(n, most);
    }
    void known_count(std::string_view name, std::optional<std::uint64_t>& n) {
        n = in_.optional_count(name);
    }
    void nullable_count(std::string_view name, std::optional<std::uint64_t>& n) {
        known_count(name, n);
    }
    void nonzero_count(std::string_view name, std::uint64_t& n) { added_count(name, n); }
    void timed_count(std::string_view name, std::uint64_t& n) { added_count(name, n); }
    void added_count(std::string_view name, std::uint64_t& n) {
        n = in_.optional_count(name).value_or(0);
    }
    void count_or(std::string_view name, std::uint64_t& n, std::string_view other) {
        const auto fallback = in_.count(other);
        n = in_.optional_count(name).value_or(fallback);
    }
    void count_if(bool, std::string_view name, std::uint64_t& n) { added_count(name, n); }
    void count_unless(std::uint64_t usual, std::string_view name, std::uint64_t& n) {
        n = in_.optional_count(name).value_or(usual);
    }
    void small_count(std::string_view name, std::uint32_t& n) {
        n = static_cast<std::uint32_t>(std::min<std::uint64_t>(in_.count(name), UINT32_MAX));
    }
    void flag(std::string_view name, bool& b) { b = in_.flag(name); }
    void words(std::string_view name, std::vector<std::string>& list) {
        for (const auto& word : in_.array(name)) {
            if (!word.is_string()) return in_.fail(name, "a list of strings");
            list.push_back(word.template get<std::string>());
        }
    }
    void known_int(std::string_view name, std::optional<int>& n) { n = in_.optional_int(name); }
    void nullable_integer(std::string_view name, std::optional<std::int64_t>& n) {
        n = in_.optional_integer(name);
    }
    void integer(std::string_view name, std::int64_t& n) { n = in_.integer(name); }
    void hex(std::string_view name, std::uint64_t& n) { n = in_.hex(name); }
    void number(std::string_view name, double& x) { x = in_.number(name); }
    void renamed_number(std::string_view name, double& x, std::string_view old_name) {
        number(in_.has(name) || !in_.has(old_name) ? name : old_name, x);
    }
    void known_number(std::string_view name, std::optional<double>& x) {
        x = in_.optional_number(name);
    }
    void known_nonzero_number(std::string_view name, std::optional<double>& x) {
        known_number(name, x);
    }
    void nullable_number(std::string_view name, std::optional<double>& x) { known_number(name, x); }
    void text(std::string_view name, std::string& s) { s = in_.text(name); }
    void text_or_null(std::string_view name, std::string& s) { s = in_.optional_text(name); }
    template <typename Choice>
    void choice(std::string_view name, Choice& chosen, const auto& names) {
        const auto found = std::find(names.begin(), names.end(), in_.text(name));
        if (found == names.end())
            return in_.fail(name, fmt::format("one of {}", fmt::join(names, ", ")));
        chosen = static_cast<Choice>(found - names.begin());
    }
    void encoded(std::string_view name, auto& value, const auto& code, std::string_view what) {
        auto read = code.value(in_.text(name));
        if (!read) return in_.fail(name, what);
        value = *std::move(read);
    }
    void derived(std::string_view, const auto&) {}
    void object(std::string_view name, const auto& each) {
        JsonFields fields = in_.object(name);
        RecordReader reader(fields);
        each(reader);
        in_.take(fields, name);
    }
    void object_if(bool, std::string_view name, const auto& each) {
        if (in_.has(name)) object(name, each);
    }
    void list(std::string_view name, auto& items, const auto& each) {
        for (const auto& element : in_.array(name)) {
            JsonFields fields(element);
            RecordReader reader(fields);
            each(reader, items.emplace_back());
            in_.take(fields, name, items.size() - 1);
        }
    }
    void parts(std::string_view name, auto& items, const auto& each) { list(name, items, each); }
    void map(std::string_view name, std::map<std::string, std::uint64_t>& counts) {
        JsonFields object = in_.object(name);
        for (const auto& [key, value] : object.json().items())
            counts.emplace(key, object.count(key));
        in_.take(object, name);
    }
    void added_map(std::string_view name, std::map<std::string, std::uint64_t>& counts) {
        if (in_.has(name)) map(name, counts);
    }
    void text_map(std::string_view name, std::map<std::string, std::string>& texts) {
        JsonFields object = in_.object(name);
        for (const auto& [key, value] : object.json().items()) texts.emplace(key, object.text(key));
        in_.take(object, name);
    }
    void optional(std::string_view name, auto& maybe, const auto& each) {
        if (in_.has(name)) object(name, [&](RecordReader& inner) { each(inner, maybe.emplace()); });
    }
    void small_counts(std::string_view name, std::vector<std::uint32_t>& list) {
        for (const std::uint64_t n : in_.counts(name)) {
            if (n > UINT32_MAX) return in_.fail(name, "a list of small counts");
            list.push_back(static_cast<std::uint32_t>(n));
        }
    }
    // Needs columns of the same length.
    void columns(std::string_view name, auto& records, const auto& columns) {
        JsonFields object = in_.object(name);
        bool is_first = true;
        const auto read = [&](const auto& column) {
            const auto numbers = object.counts(column.name);
            if (std::exchange(is_first, false)) records.resize(numbers.size());
            read_column(object, numbers, column, records);
        };
        std::apply([&](const auto&... column) { (read(column), ...); }, columns);
        in_.take(object, name);
    }
    template <typename Key>
    void pairs(std::string_view name, std::map<Key, std::uint64_t>& counts,
               const PairLimits<Key>& limits) {
        for (const auto& pair : in_.array(name)) {
            const bool is_pair = pair.is_array() && pair.size() == 2 &&
                                 is_within(pair[0], limits) && pair[1].is_number_unsigned() &&
                                 pair[1] <= limits.max_count;
            if (!is_pair) return in_.fail(name, limits.what);
            const auto n = pair[1].template get<std::uint64_t>();
            std::uint64_t& sum = counts[pair[0].template get<Key>()];
            sum = n > limits.max_count - sum ? limits.max_count : sum + n;
        }
    }
    template <typename Key>
    void pairs_of_several(std::string_view name, std::map<Key, std::uint64_t>& counts,
                          const PairLimits<Key>& limits) {
        if (!in_.has(name)) return;
        counts.clear();
        pairs(name, counts, limits);
    }

  private:
    static void read_column(JsonFields& in, const std::vector<std::uint64_t>& numbers,
                            const auto& column, auto& records) {
        if (numbers.size() != records.size())
            return in.fail(column.name, "as long as the other lists");
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            auto& member = records[i].*column.member;
            using Number = std::remove_reference_t<decltype(member)>;
            if (!std::in_range<Number>(numbers[i]))
                return in.fail(column.name, "a list of small counts");
            member = static_cast<Number>(numbers[i]);
        }
    }
    template <typename Key>
    static bool is_within(const JsonFields::Json& key, const PairLimits<Key>& limits) {
        if (key.is_number_unsigned()) {
            const auto n = key.get<std::uint64_t>();
            return std::in_range<Key>(n) && std::cmp_less_equal(n, limits.max_key) &&
                   std::cmp_greater_equal(n, limits.min_key);
        }
        if (std::is_unsigned_v<Key> || !key.is_number_integer()) return false;
        const auto n = key.get<std::int64_t>();
        return std::cmp_less_equal(n, limits.max_key) && std::cmp_greater_equal(n, limits.min_key);
    }

    JsonFields& in_;
};

}  // namespace shadowprof
