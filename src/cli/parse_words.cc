#include "cli/parse_words.h"

#include <vector>

#include "cli/exit_status.h"
#include "cli/messages.h"

namespace shadowprof {

std::optional<int> parse_words(CLI::App& app, std::string_view command,
                               std::span<const std::string> words) {
    try {
        // CLI11 takes them from the end.
        app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", app.help());
        return 0;
    } catch (const CLI::ParseError& error) {
        say("{}: {}", command, error.what());
        return exit_own_failure;
    }
    return std::nullopt;
}

}  // namespace shadowprof
