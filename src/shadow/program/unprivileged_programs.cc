#include "shadow/program/unprivileged_programs.h"

#include <fmt/format.h>

#include "base/text/numbered.h"
#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// Notes name at most this many different programs.
constexpr std::size_t max_programs = 8;

}  // namespace

void UnprivilegedPrograms::note_exec(pid_t pid) {
    if (credentials_.may_trace_privileged) return;
    if (check_program(fmt::format("/proc/{}/exe", pid), credentials_)) return;
    const auto program = read_exe_path(pid);
    const auto kind = read_exe_kind(pid);
    const bool is_supported = !kind || *kind != ProgramKind::elf_other;
    if (program && is_supported && (times_.size() < max_programs || times_.contains(*program)))
        ++times_[*program];
}

void UnprivilegedPrograms::fill(std::vector<std::string>& notes) const {
    for (const auto& [program, times] : times_)
        notes.push_back(
            fmt::format("{} was executed {} without its privileges, as it was traced: use "
                        "--follow-forks=no, or run shadowprof as root",
                        program, numbered(times, "time")));
}

}  // namespace shadowprof
