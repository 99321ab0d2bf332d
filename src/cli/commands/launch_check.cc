#include "cli/commands/launch_check.h"

#include <cstdlib>

#include "cli/terminal/messages.h"
#include "ptrace/proc/program_check.h"

namespace shadowprof {

Result<void> check_command(const std::string& name) {
    const char* search_path = std::getenv("PATH");
    TRY_ASSIGN(const std::string path,
               resolve_program(name, search_path == nullptr ? "" : search_path));
    return check_program(path, Credentials::of_this_process());
}

int exit_status_of(const Error& error) {
    if (error.code == ErrorCode::not_found) return exit_not_found;
    if (error.code == ErrorCode::permission) return exit_not_executable;
    return exit_own_failure;
}

int failed(std::string_view command, const Error& error, int status) {
    say("{}: {}", command, error.message);
    return status;
}

}  // namespace shadowprof
