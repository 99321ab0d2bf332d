// Each option or argument of a command is a row. The row determines how it is parsed, its --help
// text, its completion words, and what a profile keeps of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace shadowprof {

// The value of a flag, and of an option whose value may be left out and was.
inline constexpr std::string_view no_value = "true";

// Takes a value, which is no_value for a flag. Errors: usage; the message says what the value must
// be.
using SetOption = std::function<Result<void>(std::string_view value)>;

struct OptionRow {
    enum class Argument : std::uint8_t { optional, required, one_or_more, any_number };

    // "-o,--output" for an option, "PROFILE" for an argument.
    std::string names;
    // The name that an option had in an earlier version, which is still accepted.
    std::string old_name{};
    // The value's name in the help: "FILE", or "[=WHEN]" if the value may be left out. Empty for
    // flags and arguments.
    std::string value{};
    // Names the default in brackets.
    std::string help{};
    // All words that the value, or a member of its list, may be. Empty if they cannot be listed.
    std::vector<std::string_view> words{};
    // Called each time the option is given, in the order of the words.
    SetOption set{};
    // Instead of `set`: the value must be one of `words`; this function takes its index.
    std::function<void(std::size_t)> choose{};
    // Returns the value that a profile keeps, or nullopt if the option has no effect. Null if
    // profiles never keep this option.
    std::function<std::optional<std::string>()> kept{};
    bool takes_list = false;  // the value is a list of `words`, separated by commas
    Argument argument = Argument::optional;
    bool required = false;  // for options; arguments use `argument`

    bool is_argument() const { return names.front() != '-'; }
    bool is_flag() const { return !is_argument() && value.empty(); }
    bool may_go_without_value() const { return value.starts_with('['); }
    // Whether the value may be the word behind the option's name.
    bool takes_next_word() const { return !is_argument() && !is_flag() && !may_go_without_value(); }
    // "--output": the name that messages use.
    std::string_view long_name() const {
        return std::string_view(names).substr(names.rfind(',') + 1);
    }
};

// Setters for common types. The variable that a setter fills must outlive the row.
SetOption set_flag(bool& flag);
SetOption set_text(std::string& text);
// Accepts the name of a file to write, or - for standard output.
SetOption set_file_name(std::string& name);
// Accepts what `check` does.
SetOption set_checked(std::string& text, Result<void> (*check)(std::string_view));
SetOption add_text(std::vector<std::string>& texts);
// Accepts a whole number of at least 0, also with k, M or G.
SetOption set_count(std::size_t& count);
// Accepts the size of a profile in bytes, also with k, M or G.
SetOption set_profile_size(std::uint64_t& bytes);

// Gives `value` to the row. Errors: usage; the message names the option as `typed`, the value and
// what it must be.
Result<void> apply(const OptionRow& row, std::string_view value, std::string_view typed);

// "-x" and "--x" do; "-", which stands for standard input, does not.
constexpr bool looks_like_option(std::string_view word) {
    return word.size() > 1 && word.front() == '-';
}

}  // namespace shadowprof
