#include "cli/options/profile_argument.h"

#include <fmt/format.h>

#include <filesystem>

namespace shadowprof {
namespace {

std::string help_of_profile(std::string_view more) {
    return fmt::format("a file that shadowprof wrote; - is standard input{} [{}]", more,
                       default_profile);
}

}  // namespace

OptionRow profile_argument(std::string& path) {
    return {.names = "PROFILE", .help = help_of_profile(""), .set = set_text(path)};
}

OptionRow profile_arguments(std::vector<std::string>& paths, std::string_view more) {
    return {.names = "PROFILE",
            .help = help_of_profile(more),
            .set = add_text(paths),
            .argument = OptionRow::Argument::any_number};
}

Result<std::string> unnamed_profile(std::string_view command) {
    std::error_code error;
    if (std::filesystem::exists(default_profile, error)) return std::string(default_profile);
    return Error{ErrorCode::usage, 0,
                 fmt::format("there is no '{}' in this folder; 'shadowprof run' writes it, or name "
                             "another profile: 'shadowprof {} PROFILE'",
                             default_profile, command)};
}

}  // namespace shadowprof
