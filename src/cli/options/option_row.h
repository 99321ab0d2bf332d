// Options and arguments of commands, a row each. From a row follow how it is parsed, what --help
// says, the words that shells complete, and what a profile keeps of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace shadowprof {

// The value of an option that was given without one, where that is allowed.
inline constexpr std::string_view no_value = "true";

// Takes a value, which is empty for a flag. Errors: usage, saying what the value must be.
using SetOption = std::function<Result<void>(std::string_view value)>;

struct OptionRow {
    enum class Argument : std::uint8_t { optional, required, one_or_more };

    // "-o,--output" of an option, "PROFILE" of an argument.
    std::string names;
    // The name that an option had in an earlier version, which is still accepted.
    std::string old_name{};
    // A name for the value: "FILE", or "[=WHEN]" if the value may be left out. Empty for flags and
    // arguments.
    std::string value{};
    // The default is in brackets.
    std::string help{};
    // Every word that the value, or a member of its list, may be. Empty where there is no such
    // list.
    std::vector<std::string_view> words{};
    // Called each time that the option is given, in the order of the words.
    SetOption set{};
    // Instead of `set`: the value must be one of `words`, and this takes its index.
    std::function<void(std::size_t)> choose{};
    // The value that a profile keeps; nullopt where the option has no effect. Null where profiles
    // keep nothing of it.
    std::function<std::optional<std::string>()> kept{};
    Argument argument = Argument::optional;
    bool required = false;  // of an option

    bool is_argument() const { return names.front() != '-'; }
    bool is_flag() const { return !is_argument() && value.empty(); }
    bool may_go_without_value() const { return value.starts_with('['); }
    // "--output", by which messages name it.
    std::string_view long_name() const {
        return std::string_view(names).substr(names.rfind(',') + 1);
    }
};

// Setters of common values. What they fill must outlive the row.
SetOption set_flag(bool& flag);
SetOption set_text(std::string& text);
SetOption add_text(std::vector<std::string>& texts);
// A whole number of at least 0, also with k, M or G.
SetOption set_count(std::size_t& count);

// Gives `value` to the row. Errors: usage, naming the option, the value and what it must be.
Result<void> apply(const OptionRow& row, std::string_view value);

}  // namespace shadowprof
