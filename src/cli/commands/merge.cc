// shadowprof merge: adds profiles together.
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "report/commands/merge_command.h"

namespace shadowprof {

int merge_main(std::span<const std::string> words) {
    CommandLine line("Adds profiles of many runs or processes together.", "shadowprof merge");
    std::string output;
    std::vector<std::string> inputs;
    bool quiet = false;
    line.text("-o,--output", output,
              "the file to write; - is standard output; an older file is kept as OUT.old")
        .required();
    line.flag("-q,--quiet", quiet, "say nothing if all goes well");
    line.texts("PROFILE", inputs, "profiles that `shadowprof` wrote; - is standard input")
        .required();
    if (const auto done = line.parse("merge", words)) return *done;
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
