#include "cli/options/profile_kinds.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "base/text/suggest.h"
#include "cli/options/values.h"

namespace shadowprof {
namespace {

using std::string_view;

struct KindRow {
    string_view word;
    ProfileKinds collects;
};
constexpr auto kind_rows = [] {
    std::array<KindRow, std::tuple_size_v<KindsOnRequest>> all{};
    std::size_t at = 0;
    for_each_kind_on_request([&]<typename Kind>() {
        all[at++] = {Kind::option.word, ProfileKinds::of<Kind>()};
    });
    return all;
}();
constexpr auto kind_words = [] {
    std::array<string_view, kind_rows.size()> words;
    std::ranges::transform(kind_rows, words.begin(), &KindRow::word);
    return words;
}();

Error unknown_kind(string_view typed) {
    return {ErrorCode::usage, 0,
            did_you_mean(typed, kind_words) +
                fmt::format("must be a list of {} and {}, or all",
                            fmt::join(std::span(kind_words).first(kind_words.size() - 1), ", "),
                            kind_words.back())};
}

}  // namespace

Result<ProfileKinds> parse_profile_kinds(string_view text) {
    if (text == "all") return ProfileKinds::all();
    auto kinds = ProfileKinds::none();
    TRY_ASSIGN(const auto names, split_list(text));
    for (const string_view name : names) {
        const auto row = std::ranges::find(kind_rows, name, &KindRow::word);
        if (row == kind_rows.end()) return unknown_kind(name);
        kinds |= row->collects;
    }
    return kinds;
}

std::span<const string_view> profile_kind_words() {
    return kind_words;
}

std::string profile_kinds_text(const ProfileKinds& kinds) {
    std::vector<string_view> words;
    for (const KindRow& row : kind_rows)
        if (kinds.has_all(row.collects)) words.push_back(row.word);
    return fmt::format("{}", fmt::join(words, ","));
}

}  // namespace shadowprof
