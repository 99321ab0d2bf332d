// shadowprof merge: adds profiles together.
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/messages.h"
#include "cli/parse_words.h"
#include "report/merge_command.h"

namespace shadowprof {

int merge_main(std::span<const std::string> words) {
    CLI::App app("Adds profiles of many runs or processes together.", "shadowprof merge");
    std::string output;
    std::vector<std::string> inputs;
    bool quiet = false;
    app.add_option("-o,--output", output,
                   "the file to write; - is standard output; an older one is kept as OUT.old")
        ->required();
    app.add_flag("-q,--quiet", quiet, "say nothing if all goes well");
    app.add_option("PROFILE", inputs, "files that `shadowprof` wrote; - is standard input")
        ->required();
    if (const auto done = parse_words(app, "merge", words)) return *done;
    const auto merged = merge_profiles(inputs, output);
    if (!merged) {
        say("merge: {}", merged.error().message);
        return exit_own_failure;
    }
    if (!quiet)
        say("{} runs, {} samples, {:.1f} million instructions; profile in {}", merged->runs,
            merged->samples, static_cast<double>(merged->instructions) / 1e6,
            merged->output == "-" ? "standard output" : merged->output);
    return 0;
}

}  // namespace shadowprof
