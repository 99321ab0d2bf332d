// shadowprof annotate: shows the code of functions with what a profile knows of it.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/text/text_format.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/profile_argument.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/terminal.h"
#include "report/commands/annotate_command.h"
#include "report/lists/name_filter.h"

namespace shadowprof {
namespace {

// In files, facts are not cut at a terminal's width.
constexpr std::size_t width_of_files = 1000;

// Sets the profile's name where none was given. A word alone is a profile's name, even if it is
// meant as a function's.
Result<void> settle_profile(AnnotateRequest& request) {
    if (request.path.empty()) {
        TRY_ASSIGN(request.path, unnamed_profile("annotate"));
        return {};
    }
    std::error_code error;
    if (!request.function.empty() || request.path == "-" ||
        std::filesystem::exists(request.path, error) || error)
        return {};
    return Error{ErrorCode::not_found, 0,
                 fmt::format("there is no file '{0}'; a function is named behind its profile: "
                             "'shadowprof annotate {1} {0}'",
                             printable(request.path), default_profile)};
}

int failed_to_annotate(const Error& error) {
    say("annotate: {}", error.message);
    return exit_own_failure;
}

}  // namespace

int annotate_main(std::span<const std::string> words) {
    AnnotateRequest request;
    CommandLine line(
        {"annotate", "[options] [PROFILE [FUNCTION]]",
         "Shows the code of functions, with counts, values and latencies beside it."},
        {profile_argument(request.path),
         {.names = "FUNCTION",
          .help = "the name of a function, or a pattern with *, ? and [] [the hottest function]",
          .set = set_checked(request.function, check_name_filter)},
         {.names = "--view",
          .value = "VIEW",
          .help = "what to show: mixed (instructions below their lines of source), disassembly or "
                  "source [mixed]",
          .words = {listing_view_names.begin(), listing_view_names.end()},
          .choose =
              [&](std::size_t view) { request.listing.view = static_cast<ListingView>(view); }},
         {.names = "--top",
          .value = "N",
          .help = "show this many functions, hottest first [1, or all that FUNCTION matches]",
          .set = set_count(request.top)},
         {.names = "--all",
          .help = "also show long stretches that were never executed",
          .set = set_flag(request.listing.all)}});
    if (const auto done = line.parse(words, exit_own_failure)) return *done;
    if (const auto settled = settle_profile(request); !settled)
        return failed_to_annotate(settled.error());
    TextOptions options = text_options(STDOUT_FILENO);
    if (isatty(STDOUT_FILENO) == 0) options.width = width_of_files;
    const auto shown = annotate_functions(request, options, stdout);
    return shown ? 0 : failed_to_annotate(shown.error());
}

}  // namespace shadowprof
