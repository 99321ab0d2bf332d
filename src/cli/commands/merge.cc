// shadowprof merge: adds profiles together.
#include <unistd.h>

#include "base/text/numbered.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/work_line.h"
#include "profile/profile_size.h"
#include "report/commands/merge_command.h"

namespace shadowprof {
namespace {

std::string merging_text(const MergeProgress& now, double seconds) {
    return fmt::format("merging: {} of {}, {}{}", now.files, numbered(now.all_files, "file"),
                       megabytes_text(now.bytes, now.all_bytes),
                       time_left_text(seconds, static_cast<double>(now.bytes),
                                      static_cast<double>(now.all_bytes)));
}

}  // namespace

int merge_main(std::span<const std::string> words) {
    std::string output;
    std::vector<std::string> inputs;
    std::uint64_t max_bytes = default_max_profile_bytes;
    bool quiet = false;
    CommandLine line(
        {"merge", "[options] -o OUT PROFILE...",
         "Adds profiles of many runs or processes together."},
        {{.names = "PROFILE",
          .help = "files that shadowprof wrote; - is standard input",
          .set = add_text(inputs),
          .argument = OptionRow::Argument::one_or_more},
         {.names = "-o,--output",
          .value = "OUT",
          .help = "the file to write, compressed if it ends in .gz or .zst; - is standard output; "
                  "an older file is kept as OUT.old",
          .set = set_file_name(output),
          .required = true},
         {.names = "--max-size",
          .value = "BYTES",
          .help = "the size of the profile, also with k, M or G: call stacks may take three "
                  "eighths of it, and paths a quarter [32M]",
          .set = set_profile_size(max_bytes)},
         {.names = "-q,--quiet", .help = "say nothing if all goes well", .set = set_flag(quiet)}});
    if (const auto done = line.parse(words, exit_own_failure)) return *done;
    WorkLine progress(stderr, !quiet && isatty(STDERR_FILENO) != 0);
    const auto merged = merge_profiles(inputs, output, max_bytes, [&](const MergeProgress& now) {
        progress.show([&] { return merging_text(now, progress.elapsed()); });
    });
    progress.clear();
    if (!merged) {
        say("merge: {}", merged.error().message);
        return exit_own_failure;
    }
    if (quiet) return 0;
    if (merged->has_unequal_runs)
        say("merge: exact and sampled profiles were added up: the exact ones outweigh the others, "
            "as they have every instruction and samples only a share; merge each kind by itself");
    say("{}, {}, {:.1f} million instructions; profile in {}", numbered(merged->runs, "run"),
        numbered(merged->samples, "sample"), static_cast<double>(merged->instructions) / 1e6,
        merged->output == "-" ? "standard output" : merged->output);
    return 0;
}

}  // namespace shadowprof
