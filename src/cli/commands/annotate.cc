// shadowprof annotate: reads a profile and shows the code of functions with what it knows of it.
#include <unistd.h>

#include <array>

#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/terminal.h"
#include "report/commands/annotate_command.h"

namespace shadowprof {
namespace {

// In files, facts are not cut.
constexpr std::size_t width_of_files = 1000;

}  // namespace

int annotate_main(std::span<const std::string> words) {
    CommandLine line("Shows the code of functions, with counts, values and latencies beside it.",
                     "shadowprof annotate");
    AnnotateRequest request;
    constexpr std::array<std::string_view, 3> view_words{"mixed", "disassembly", "source"};
    constexpr std::array views{ListingView::mixed, ListingView::disassembly, ListingView::source};
    std::size_t view = 0;
    line.choice("--view", view, view_words,
                "what to show: mixed (instructions below their lines of source), disassembly or "
                "source [mixed]")
        .value_name("VIEW");
    line.count("--top", request.top,
               "show this many functions, hottest first [1, or all that FUNCTION matches]")
        .value_name("N");
    line.flag("--all", request.listing.all, "also show long stretches that were never executed");
    line.text("PROFILE", request.path, "a file that `shadowprof run` wrote; - is standard input")
        .required();
    line.text("FUNCTION", request.function,
              "the name of a function, or a pattern with * and ? [the hottest function]");
    if (const auto done = line.parse("annotate", words)) return *done;
    request.listing.view = views[view];
    TextOptions options = text_options(STDOUT_FILENO);
    if (isatty(STDOUT_FILENO) == 0) options.width = width_of_files;
    const auto shown = annotate_functions(request, options, stdout);
    if (shown) return 0;
    say("annotate: {}", shown.error().message);
    return exit_own_failure;
}

}  // namespace shadowprof
