#include "cli/options/option_row.h"

#include <fmt/format.h>

#include "base/text/text_format.h"
#include "cli/options/values.h"
#include "profile/profile_size.h"

namespace shadowprof {
namespace {

Result<void> choose(const OptionRow& row, std::string_view value) {
    TRY_ASSIGN(const std::size_t choice, parse_choice(value, row.words));
    row.choose(choice);
    return {};
}

}  // namespace

SetOption set_flag(bool& flag) {
    return [&flag](std::string_view) -> Result<void> {
        flag = true;
        return {};
    };
}

SetOption set_text(std::string& text) {
    return [&text](std::string_view value) -> Result<void> {
        text = value;
        return {};
    };
}

SetOption set_file_name(std::string& name) {
    return [&name](std::string_view value) -> Result<void> {
        if (value.empty()) return Error{ErrorCode::usage, 0, "must be the name of a file, or -"};
        name = value;
        return {};
    };
}

SetOption set_checked(std::string& text, Result<void> (*check)(std::string_view)) {
    return [&text, check](std::string_view value) -> Result<void> {
        TRY(check(value));
        text = value;
        return {};
    };
}

SetOption add_text(std::vector<std::string>& texts) {
    return [&texts](std::string_view value) -> Result<void> {
        texts.emplace_back(value);
        return {};
    };
}

SetOption set_count(std::size_t& count) {
    return [&count](std::string_view value) -> Result<void> {
        TRY_ASSIGN(count, parse_count(value, 0));
        return {};
    };
}

SetOption set_profile_size(std::uint64_t& bytes) {
    return [&bytes](std::string_view value) -> Result<void> {
        TRY_ASSIGN(bytes, parse_count(value, least_max_profile_bytes));
        return {};
    };
}

Result<void> apply(const OptionRow& row, std::string_view value, std::string_view typed) {
    auto result = row.choose ? choose(row, value) : row.set(value);
    if (result) return result;
    const bool has_value = !row.is_flag() && !(row.may_go_without_value() && value == no_value);
    return std::move(result).error().with_context(
        has_value ? fmt::format("{} '{}'", typed, printable(value)) : std::string(typed));
}

}  // namespace shadowprof
