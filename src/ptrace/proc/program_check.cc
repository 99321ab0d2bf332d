#include "ptrace/proc/program_check.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/files/fd.h"
#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// The kernel follows this many nested interpreters.
constexpr int deepest_script = 5;
constexpr std::size_t longest_script_line = 256;

Error refusal(ErrorCode code, std::string_view path, std::string_view reason) {
    return {code, 0, fmt::format("'{}' {}", path, reason)};
}

Error loses_privileges(std::string_view path, std::string_view what) {
    return refusal(ErrorCode::unsupported, path,
                   fmt::format("{}, and would run without its privileges under a tracer; start it "
                               "by itself and attach to it, or run shadowprof as root",
                               what));
}

Result<void> check_privileges(const std::string& path, const struct stat& file,
                              const Credentials& caller) {
    if (caller.may_trace_privileged) return {};
    if ((file.st_mode & S_ISUID) && file.st_uid != caller.effective_uid)
        return loses_privileges(path, "is set-user-ID");
    // Without the group's execute bit, S_ISGID means mandatory locking.
    if ((file.st_mode & S_ISGID) && (file.st_mode & S_IXGRP) && file.st_gid != caller.effective_gid)
        return loses_privileges(path, "is set-group-ID");
    if (::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0)
        return loses_privileges(path, "has file capabilities");
    return {};
}

// Returns the interpreter that a "#!" line names, or an empty string.
std::string interpreter_of(std::string_view first_bytes) {
    std::string_view line = first_bytes.substr(0, first_bytes.find('\n'));
    line.remove_prefix(std::min<std::size_t>(2, line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return std::string(line.substr(0, line.find_first_of(" \t")));
}

Result<void> check_at_depth(const std::string& path, const Credentials& caller, int depth) {
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) return errno_error(fmt::format("'{}'", path));
    if (S_ISDIR(file.st_mode)) return refusal(ErrorCode::permission, path, "is a directory");
    if (!S_ISREG(file.st_mode))
        return refusal(ErrorCode::permission, path, "is not a regular file");
    if (::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0)
        return refusal(ErrorCode::permission, path, "is not executable");

    std::array<std::byte, longest_script_line> bytes;
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t count = fd ? ::pread(fd.get(), bytes.data(), bytes.size(), 0) : -1;
    if (count < 0) return check_privileges(path, file, caller);  // executable but not readable
    const auto first = std::span(bytes).first(static_cast<std::size_t>(count));
    switch (classify_program(first)) {
        case ProgramKind::elf_other:
            return refusal(ErrorCode::unsupported, path,
                           "is not a 64-bit x86 program; shadowprof profiles only those");
        case ProgramKind::script: {
            const auto interpreter =
                interpreter_of({reinterpret_cast<const char*>(first.data()), first.size()});
            if (interpreter.empty() || depth >= deepest_script)
                return refusal(ErrorCode::permission, path,
                               "has a '#!' line that cannot be followed");
            auto result = check_at_depth(interpreter, caller, depth + 1);
            if (result) return {};
            return std::move(result).error().with_context(fmt::format("'{}' needs", path));
        }
        case ProgramKind::elf_x86_64:
        case ProgramKind::unknown:
            break;  // the kernel or execvp's shell decides
    }
    return check_privileges(path, file, caller);
}

bool has_capability(unsigned capability) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
    if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
    return (data[capability / 32].effective >> (capability % 32) & 1) != 0;
}

}  // namespace

Credentials Credentials::of_this_process() {
    return {::geteuid(), ::getegid(), has_capability(CAP_SYS_PTRACE)};
}

Result<std::string> resolve_program(std::string_view name, std::string_view search_path) {
    if (name.find('/') != std::string_view::npos) return std::string(name);
    bool forbidden = false;
    for (std::size_t at = 0; !name.empty() && at <= search_path.size();) {
        const std::size_t end = std::min(search_path.find(':', at), search_path.size());
        const std::string_view directory = search_path.substr(at, end - at);
        const std::string path = fmt::format("{}/{}", directory.empty() ? "." : directory, name);
        struct stat file {};
        if (::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode)) {
            if (::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0) return path;
            forbidden = true;
        }
        at = end + 1;
    }
    if (forbidden) return refusal(ErrorCode::permission, name, "is not executable");
    return refusal(ErrorCode::not_found, name, "was not found in PATH");
}

Result<void> check_program(const std::string& path, const Credentials& caller) {
    return check_at_depth(path, caller, 0);
}

}  // namespace shadowprof
