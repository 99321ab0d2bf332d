// The options of `run` and `attach`, one row each: from it follow their parsing and their help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/run_request.h"

namespace shadowprof {

// The value of an option that was given without one, where it may be
// (CommandOption::value_may_be_missing).
inline constexpr std::string_view no_value = "true";

struct OptionRow {
    const char* names;  // "-o,--output"; messages use the last one
    const char* value;  // what it takes; "[=...]" if it may go without; null for a flag
    std::string help;
    Result<void> (*set)(RunRequest&, std::string_view value);

    std::string_view long_name() const {
        const std::string_view all = names;
        return all.substr(all.rfind(',') + 1);
    }
    bool may_go_without_value() const { return value && *value == '['; }
};

// In the order of help.
const std::vector<OptionRow>& option_rows();

// As in a profile's options: by SamplingMode and RecordInput.
inline constexpr const char* mode_names[] = {"auto", "shadow", "burst", "exact"};
inline constexpr const char* input_names[] = {"auto", "yes", "no"};

}  // namespace shadowprof
