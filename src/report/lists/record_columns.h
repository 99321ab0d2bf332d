// The records of a kind as a table with a column for each field (profile/kinds/fields.h).
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "profile/code_location.h"

namespace shadowprof {

// Passes the columns of one record to `Cells`: text(name, s), count(name, number or nothing),
// place(name, location or null) and places(name, list). Records that contain lists of objects are
// not supported.
template <typename Cells>
class RecordColumns {
  public:
    static constexpr bool reads = false;

    // If not `is_here`, all cells are empty.
    explicit RecordColumns(Cells& cells, std::string prefix = "", bool is_here = true)
        : cells_(cells), prefix_(std::move(prefix)), is_here_(is_here) {}

    void location(std::string_view name, CodeLocation l) { location_if(true, name, l); }
    void location_if(bool is_here, std::string_view name, CodeLocation l) {
        cells_.place(column(name), is_here && is_here_ ? &l : nullptr);
    }
    void locations(std::string_view name, const auto& list) { cells_.places(column(name), list); }
    void count(std::string_view name, std::uint64_t n) {
        cells_.count(column(name), is_here_ ? std::optional(n) : std::nullopt);
    }
    void count_up_to(std::string_view name, std::uint64_t n, std::uint64_t) { count(name, n); }
    void known_count(std::string_view name, const std::optional<std::uint64_t>& n) {
        cells_.count(column(name), is_here_ ? n : std::nullopt);
    }
    void nonzero_count(std::string_view name, std::uint64_t n) {
        cells_.count(column(name), is_here_ && n != 0 ? std::optional(n) : std::nullopt);
    }
    void timed_count(std::string_view name, std::uint64_t n) { nonzero_count(name, n); }
    void added_count(std::string_view name, std::uint64_t n) { count(name, n); }
    void count_or(std::string_view name, std::uint64_t n, std::string_view) { count(name, n); }
    void integer(std::string_view name, std::int64_t n) { text(name, std::to_string(n)); }
    void number(std::string_view name, double x) { known_number(name, x); }
    void known_number(std::string_view name, const std::optional<double>& x) {
        text(name, x ? fmt::format("{}", *x) : "");
    }
    void text(std::string_view name, std::string_view s) {
        cells_.text(column(name), is_here_ ? s : "");
    }
    void text_or_null(std::string_view name, std::string_view s) { text(name, s); }
    void choice(std::string_view name, auto chosen, const auto& names) {
        text(name, names.at(static_cast<std::size_t>(chosen)));
    }
    void derived(std::string_view name, const auto& make) { text(name, fmt::format("{}", make())); }
    void object(std::string_view name, const auto& each) { object_if(true, name, each); }
    void object_if(bool is_here, std::string_view name, const auto& each) {
        RecordColumns inner(cells_, column(name) + "_", is_here && is_here_);
        each(inner);
    }
    void map(std::string_view name, const auto& counts) { pairs(name, counts, nullptr); }
    void pairs(std::string_view name, const auto& counts, const auto&) {
        std::string all;
        for (const auto& [key, n] : counts)
            all += fmt::format("{}{}={}", all.empty() ? "" : ";", key, n);
        text(name, all);
    }
    void pairs_of_several(std::string_view name, const auto& counts, const auto& limits) {
        pairs(name, counts, limits);
    }

  private:
    std::string column(std::string_view name) const { return prefix_ + std::string(name); }

    Cells& cells_;
    std::string prefix_;
    bool is_here_;
};

}  // namespace shadowprof
