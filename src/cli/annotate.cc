// shadowprof annotate: reads a profile and shows the code of functions with what it knows of it.
#include <unistd.h>

#include <map>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/messages.h"
#include "cli/parse_words.h"
#include "cli/terminal.h"
#include "report/annotate/annotate_command.h"

namespace shadowprof {
namespace {

// In files, facts are not cut.
constexpr std::size_t width_of_files = 1000;

}  // namespace

int annotate_main(std::span<const std::string> words) {
    CLI::App app("Shows the code of functions with counts, values and latencies beside it.",
                 "shadowprof annotate");
    AnnotateRequest request;
    const std::map<std::string, ListingView> views{{"mixed", ListingView::mixed},
                                                   {"disassembly", ListingView::disassembly},
                                                   {"source", ListingView::source}};
    app.add_option(
           "--view", request.listing.view,
           "mixed (instructions below their lines of source), disassembly or source [mixed]")
        ->transform(CLI::CheckedTransformer(views, CLI::ignore_case).description(""))
        ->type_name("VIEW");
    app.add_option("--top", request.top,
                   "so many functions, hottest first [1; all that FUNCTION matches]")
        ->type_name("N");
    app.add_flag("--all", request.listing.all, "also long stretches that never executed");
    app.add_option("PROFILE", request.path,
                   "a file that `shadowprof run` wrote; - is standard input")
        ->required();
    app.add_option("FUNCTION", request.function,
                   "a name, or a pattern with * and ?; otherwise the hottest function");
    if (const auto done = parse_words(app, "annotate", words)) return *done;
    TextOptions options = text_options(STDOUT_FILENO);
    if (isatty(STDOUT_FILENO) == 0) options.width = width_of_files;
    const auto shown = annotate_functions(request, options, stdout);
    if (shown) return 0;
    say("annotate: {}", shown.error().message);
    return exit_own_failure;
}

}  // namespace shadowprof
