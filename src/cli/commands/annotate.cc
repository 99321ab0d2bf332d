// shadowprof annotate: shows the code of functions with what a profile knows of it.
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/terminal.h"
#include "report/commands/annotate_command.h"
#include "report/lists/name_filter.h"

namespace shadowprof {
namespace {

// In files, facts are not cut at a terminal's width.
constexpr std::size_t width_of_files = 1000;

}  // namespace

int annotate_main(std::span<const std::string> words) {
    AnnotateRequest request;
    CommandLine line(
        {"annotate", "[options] PROFILE [FUNCTION]",
         "Shows the code of functions, with counts, values and latencies beside it."},
        {{.names = "PROFILE",
          .help = "a file that shadowprof wrote; - is standard input",
          .set = set_text(request.path),
          .argument = OptionRow::Argument::required},
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
    TextOptions options = text_options(STDOUT_FILENO);
    if (isatty(STDOUT_FILENO) == 0) options.width = width_of_files;
    const auto shown = annotate_functions(request, options, stdout);
    if (shown) return 0;
    say("annotate: {}", shown.error().message);
    return exit_own_failure;
}

}  // namespace shadowprof
