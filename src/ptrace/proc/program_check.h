// Finds the program to launch, and refuses programs that cannot be profiled before they start.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

// What decides whether a privileged program loses its privileges under a tracer.
struct Credentials {
    uid_t effective_uid = 0;
    gid_t effective_gid = 0;
    bool may_trace_privileged = false;  // CAP_SYS_PTRACE: such programs keep their privileges

    static Credentials of_this_process();
};

// Returns the path of a program as execvp finds it. A name with a slash is the path itself; other
// names are searched for along `search_path` ("dir:dir", an empty member is the current directory).
// Errors: not_found, permission.
Result<std::string> resolve_program(std::string_view name, std::string_view search_path);

// Checks that the program, or the interpreter of a script, can be executed and profiled. Messages
// name the file and the reason, and a remedy if there is one. Errors: not_found; permission (a
// directory, not executable); unsupported (an ELF file that is not for x86-64; a set-user-ID,
// set-group-ID or capability program that would lose its privileges).
Result<void> check_program(const std::string& path, const Credentials& caller);

}  // namespace shadowprof
