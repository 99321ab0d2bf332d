// shadowprof syscalls: how system calls are treated inside samples.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

std::string as_json() {
    auto rows = nlohmann::ordered_json::array();
    for (const SyscallFacts& row : syscall_facts())
        rows.push_back({{"number", row.number},
                        {"name", row.name},
                        {"class", name(row.syscall_class)},
                        {"emulated", row.syscall_class != SyscallClass::unsafe},
                        {"returns", name(row.result)},
                        {"remark", row.remark}});
    return rows.dump(1) + "\n";
}

std::size_t longest_name() {
    std::size_t longest = 0;
    for (const SyscallFacts& row : syscall_facts()) longest = std::max(longest, row.name.size());
    return longest;
}

std::string as_text() {
    std::size_t width = longest_name();
    std::string text =
        fmt::format("{:>3}  {:<{}}  {:<6}  {}\n", "nr", "name", width, "class", "inside a sample");
    std::array<std::size_t, static_cast<std::size_t>(SyscallClass::count)> totals{};
    for (const SyscallFacts& row : syscall_facts()) {
        ++totals[static_cast<std::size_t>(row.syscall_class)];
        text += fmt::format(
            "{:>3}  {:<{}}  {:<6}  {}{}\n", row.number, row.name, width, name(row.syscall_class),
            row.syscall_class == SyscallClass::unsafe ? "ends it: " : "", row.remark);
    }
    text += fmt::format("\n{} system calls:", syscall_facts().size());
    for (std::size_t i = 0; i < totals.size(); ++i)
        text += fmt::format(" {} {}{}", totals[i], syscall_class_names[i],
                            i + 1 < totals.size() ? "," : "\n");
    return text;
}

}  // namespace

int syscalls_main(std::span<const std::string> words) {
    bool json = false;
    CommandLine line(
        {"syscalls", "[options]", "Shows how each system call is treated inside a sample."},
        {{.names = "--json",
          .help = "print a JSON array instead of a table",
          .set = set_flag(json)}});
    if (const auto done = line.parse(words, exit_own_failure)) return *done;
    put(stdout, json ? as_json() : as_text());
    return 0;
}

}  // namespace shadowprof
