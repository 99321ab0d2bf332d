// Finding the program to launch, and refusing before it starts what cannot be profiled.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

// What the kernel would decide by when it executes a privileged program under a tracer.
struct Credentials {
    uid_t effective_uid = 0;
    gid_t effective_gid = 0;
    bool may_trace_privileged = false;  // CAP_SYS_PTRACE: the program keeps its privileges

    static Credentials of_this_process();
};

// The path of a program as execvp finds it: a name with a slash is itself, others are searched for
// along `search_path` ("dir:dir", an empty member is the current directory).
// Errors: not_found, permission.
Result<std::string> resolve_program(std::string_view name, std::string_view search_path);

// Whether the program (or, of a script, its interpreter) can be executed and profiled. Every
// message names the file and the reason, and a remedy where there is one.
// Errors: not_found; permission (a directory, not executable); unsupported (an ELF file that is not
// for x86-64; a set-user-ID, set-group-ID or capability program that would lose its privileges).
Result<void> check_program(const std::string& path, const Credentials& caller);

}  // namespace shadowprof
