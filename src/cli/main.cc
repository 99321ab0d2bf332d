// shadowprof: dispatches to the subcommands.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/files/truncated_files.h"
#include "base/text/suggest.h"
#include "cli/commands/commands.h"
#include "cli/commands/version_text.h"
#include "cli/options/option_row.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "shadow/emulation/emulation_worker.h"

namespace shadowprof {
namespace {

struct Command {
    std::string_view name;
    std::string_view summary;
    CommandMain run;
};
constexpr Command commands[] = {
    {"run", "profile a program from its start", run_main},
    {"attach", "profile a running process, then let it go", attach_main},
    {"callgrind", "count instructions exactly, with valgrind's options", callgrind_main},
    {"verify", "prove the emulator against the hardware", verify_main},
    {"report", "show the summary of a profile, or lists of it", report_main},
    {"syscalls", "show how system calls inside samples are treated", syscalls_main},
    {"annotate", "show the code of functions with counts and values", annotate_main},
    {"diff", "compare two profiles, with limits for CI", diff_main},
    {"merge", "add profiles together", merge_main},
    {"accuracy", "measure a sampled profile against a full one", accuracy_main},
    {"export", "convert a profile for other tools", export_main},
};

const Command* find_command(std::string_view name) {
    const auto* found = std::find_if(std::begin(commands), std::end(commands),
                                     [&](const Command& each) { return each.name == name; });
    return found == std::end(commands) ? nullptr : found;
}

std::string overview() {
    std::string text =
        "Usage: shadowprof COMMAND [options] ...\n"
        "A sampling profiler that forks and emulates instead of instrumenting.\n\n";
    for (const Command& command : commands)
        text += fmt::format("  {:<10} {}\n", command.name, command.summary);
    return text +
           "  help       show this text, or the options of a command\n\n"
           "  -V, --version  show the version, and how the program was built\n\n"
           "'shadowprof COMMAND --help' shows the options of a command. 'man shadowprof' has "
           "more.\n";
}

int unknown_option(std::string_view name) {
    constexpr std::string_view options[] = {"--help", "--version"};
    const std::string_view near = nearest(name, options);
    if (near.empty())
        say("unknown option '{}'; options stand behind their command, as in 'shadowprof run -q'",
            name);
    else
        say("unknown option '{}'; did you mean '{}'?", name, near);
    return exit_own_failure;
}

int unknown_command(std::string_view name) {
    std::array<std::string_view, std::size(commands)> names;
    std::transform(std::begin(commands), std::end(commands), names.begin(),
                   [](const Command& command) { return command.name; });
    const std::string_view near = nearest(name, names);
    if (near.empty())
        say("unknown command '{}'; 'shadowprof help' lists the commands", name);
    else
        say("unknown command '{}'; did you mean '{}'?", name, near);
    return exit_own_failure;
}

int run_command(std::string_view name, std::span<const std::string> words) {
    const Command* command = find_command(name);
    if (command == nullptr)
        return looks_like_option(name) ? unknown_option(name) : unknown_command(name);
    return command->run(words);
}

int dispatch(std::span<const std::string> words) {
    if (words.empty()) return put(stdout, overview()), 0;
    const std::string& first = words.front();
    const bool help = first == "help" || first == "--help" || first == "-h";
    if (first == "help" && words.size() > 1)
        return run_command(words[1], std::vector<std::string>{"--help"});
    if (help) return put(stdout, overview()), 0;
    if (first == "--version" || first == "-V") return put(stdout, version_text()), 0;
    return run_command(first, words.subspan(1));
}

// Standard descriptors that are closed stay closed for the target. Here their numbers are occupied,
// so that no other file of ours gets them.
void reserve_standard_descriptors() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        if (fcntl(fd, F_GETFD) < 0) (void)open("/", O_PATH | O_CLOEXEC);
}

}  // namespace
}  // namespace shadowprof

int main(int argc, char** argv) {
    using namespace shadowprof;
    if (argc == 2 && argv[1] == worker_subcommand) return run_emulation_worker(argv);
    reserve_standard_descriptors();
    survive_truncated_files();
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    const int status = dispatch(words);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    say("cannot write to standard output");
    return exit_own_failure;
}
