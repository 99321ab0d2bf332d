// Programs that lose their privileges because they are traced: set-user-ID programs and those with
// file capabilities (execve(2)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ptrace/proc/program_check.h"

namespace shadowprof {

class UnprivilegedPrograms {
  public:
    // A traced process has executed a program.
    void note_exec(pid_t pid);
    void fill(std::vector<std::string>& notes) const;

  private:
    const Credentials credentials_ = Credentials::of_this_process();
    std::map<std::string, std::uint64_t> times_;  // by program
};

}  // namespace shadowprof
