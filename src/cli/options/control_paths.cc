#include "cli/options/control_paths.h"

namespace shadowprof {

Result<ControlPaths> parse_control_paths(std::string_view text) {
    constexpr std::string_view prefix = "fifo:";
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    const auto comma = text.find(',');
    const auto commands = text.substr(0, comma);
    const auto answers = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    const bool bad_answers =
        comma != text.npos && (answers.empty() || answers.find(',') != answers.npos);
    if (commands.empty() || bad_answers)
        return Error{
            ErrorCode::usage, 0,
            "must be a FIFO or a file, which a comma and one for the answers may follow: ctl, "
            "fifo:ctl,ack"};
    return ControlPaths{std::string(commands), std::string(answers)};
}

}  // namespace shadowprof
