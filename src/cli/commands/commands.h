// The subcommands: one function and one file each.
#pragma once

#include <span>
#include <string>

namespace shadowprof {

// `words` are those behind the subcommand's name. Returns the exit status of shadowprof.
using CommandMain = int (*)(std::span<const std::string> words);

int accuracy_main(std::span<const std::string> words);
int annotate_main(std::span<const std::string> words);
int attach_main(std::span<const std::string> words);
int callgrind_main(std::span<const std::string> words);
int diff_main(std::span<const std::string> words);
int merge_main(std::span<const std::string> words);
int report_main(std::span<const std::string> words);
int export_main(std::span<const std::string> words);
int run_main(std::span<const std::string> words);
int syscalls_main(std::span<const std::string> words);
int verify_main(std::span<const std::string> words);

}  // namespace shadowprof
